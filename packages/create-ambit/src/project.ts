import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { agentsOf, dockerfileOf, workflowOf } from './delivery.js';
import { readmeOf } from './readme.js';

/** The host that the application listens with. */
export type Host = 'express' | 'fastify' | 'hono';
/** The database that it stores in. */
export type Database = 'sqlite' | 'postgres';
/** The library that writes its SQL; with `none`, you do. */
export type QueryBuilder = 'none' | 'kysely' | 'drizzle' | 'knex';
/** The package manager that installs and runs it. */
export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

/** The hosts that are offered. */
export const HOSTS: readonly Host[] = ['express', 'fastify', 'hono'];
/** The databases that are offered. */
export const DATABASES: readonly Database[] = ['sqlite', 'postgres'];
/** The query builders that are offered. */
export const QUERY_BUILDERS: readonly QueryBuilder[] = ['none', 'kysely', 'drizzle', 'knex'];
/** The package managers that are known. */
export const PACKAGE_MANAGERS: readonly PackageManager[] = ['npm', 'pnpm', 'yarn', 'bun'];

/** The choices that a project is made of. */
export interface ProjectOptions {
  /** The name in its package.json. */
  readonly name: string;
  /** The host that it listens with. */
  readonly host: Host;
  /** The database that it stores in. */
  readonly database: Database;
  /** The library that writes its SQL. */
  readonly queryBuilder: QueryBuilder;
  /** The package manager of its README.md, Dockerfile and workflow. Default `npm`. */
  readonly packageManager?: PackageManager;
}

/** The packages that a choice needs: at run time, and for development. */
interface Needs {
  readonly dependencies: readonly string[];
  readonly devDependencies?: readonly string[];
}

const EVERY: Needs = {
  dependencies: ['@ambit/container', '@ambit/transaction'],
  devDependencies: ['@types/node', 'oxfmt', 'oxlint', 'tsx', 'typescript', 'vitest'],
};

const NEEDS: Readonly<Record<Host | Database | QueryBuilder, Needs>> = {
  express: { dependencies: ['@ambit/express', 'express'], devDependencies: ['@types/express'] },
  fastify: { dependencies: ['@ambit/fastify', 'fastify'] },
  hono: { dependencies: ['@ambit/fetch', '@ambit/hono', '@ambit/http', '@hono/node-server', 'hono'] },
  // Node 20 has no SQLite of its own.
  sqlite: { dependencies: process.getBuiltinModule('node:sqlite') ? [] : ['@photostructure/sqlite'] },
  postgres: { dependencies: ['pg'] },
  none: { dependencies: [] },
  kysely: { dependencies: ['@ambit/orm', 'kysely'] },
  drizzle: { dependencies: ['@ambit/orm', 'drizzle-orm'], devDependencies: ['drizzle-kit'] },
  knex: { dependencies: ['@ambit/orm', 'knex'] },
};

/** This repository installs them apart from its packages, in the same versions. */
const TOOLS: Readonly<Record<string, string>> = { 'drizzle-kit': '^0.31.11', oxfmt: '^0.75.0', oxlint: '^1.89.0' };

const ROOT = join(import.meta.dirname, '..');
const TEMPLATE = join(ROOT, 'template');

/**
 * The files of a new project. Sources are copied from `template/`; what depends on several choices, such as `package.json`, is written here.
 *
 * @param options - what the project is made of
 * @returns the text of each file by its path, with `/` between folders
 *
 * @example
 * ```ts
 * import { projectFiles } from 'create-ambit';
 *
 * const files = projectFiles({ name: 'my-shop', host: 'fastify', database: 'sqlite', queryBuilder: 'none' });
 * console.log(files['src/app.ts']);
 * ```
 */
export function projectFiles(options: ProjectOptions): Readonly<Record<string, string>> {
  const { host, database, queryBuilder, packageManager = 'npm' } = options;
  const isChosen = folderFilter(['every', host, database, queryBuilder, packageManager]);
  const written = {
    '.gitignore': gitignoreOf(database, packageManager),
    '.github/workflows/ci.yml': workflowOf({ ...options, packageManager }),
    'AGENTS.md': agentsOf({ ...options, packageManager }),
    Dockerfile: dockerfileOf({ ...options, packageManager }),
    'README.md': readmeOf({ ...options, packageManager }),
    'package.json': manifestOf(options),
  };
  const copied = readdirSync(TEMPLATE)
    .filter(isChosen)
    .flatMap((folder) => filesIn(join(TEMPLATE, folder)));
  return Object.fromEntries([...Object.entries(written), ...copied]);
}

/** A folder of the template is for all the choices in its name: `kysely+knex-sqlite` for Kysely or Knex, on SQLite. */
function folderFilter(choices: readonly string[]): (folder: string) => boolean {
  return (folder) => folder.split('-').every((either) => either.split('+').some((choice) => choices.includes(choice)));
}

function filesIn(folder: string): [path: string, text: string][] {
  // Not `withFileTypes`: in the archives of Yarn's Plug'n'Play its entries have no folder.
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => [path.replaceAll(sep, '/'), readFileSync(join(folder, path), 'utf8')]);
}

function gitignoreOf(database: Database, packageManager: PackageManager): string {
  const ignored = [
    'node_modules/',
    'dist/',
    ...(database === 'sqlite' ? ['*.db', '*.db-*'] : []),
    ...(packageManager === 'yarn' ? ['.yarn/'] : []),
  ];
  return ignored.map((line) => `${line}\n`).join('');
}

const DEVELOPMENT = 'tsx --env-file=.env.development';

function manifestOf({ name, host, database, queryBuilder }: ProjectOptions): string {
  const needs = [EVERY, NEEDS[host], NEEDS[database], NEEDS[queryBuilder]];
  const manifest = {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    scripts: {
      build: 'tsc -p tsconfig.build.json',
      dev: `${DEVELOPMENT} src/migrate.ts && ${DEVELOPMENT.replace('tsx', 'tsx watch')} src/server.ts`,
      format: 'oxfmt',
      lint: 'oxlint --deny-warnings && oxfmt --check',
      migrate: 'node dist/migrate.js',
      ...(queryBuilder === 'drizzle' && { migration: 'drizzle-kit generate' }),
      start: 'node dist/server.js',
      test: 'tsc && vitest run',
    },
    dependencies: versionsOf(needs.flatMap(({ dependencies }) => dependencies)),
    devDependencies: versionsOf(needs.flatMap(({ devDependencies = [] }) => devDependencies)),
    engines: { node: '>=20.19' },
  };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** The versions that this repository is tested with: our own manifest lists every package of a project in `devDependencies`. */
function versionsOf(names: readonly string[]): Record<string, string> {
  const manifest = readFileSync(join(ROOT, 'package.json'), 'utf8');
  const { devDependencies } = JSON.parse(manifest) as { devDependencies: Record<string, string> };
  return Object.fromEntries(
    names.toSorted().map((name) => {
      const version = devDependencies[name] ?? TOOLS[name];
      if (version === undefined) throw new Error(`devDependencies of create-ambit has no ${name}`);
      return [name, version];
    }),
  );
}
