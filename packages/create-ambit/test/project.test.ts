import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { DATABASES, HOSTS, PACKAGE_MANAGERS, projectFiles, type ProjectOptions, QUERY_BUILDERS } from '../src/index.js';

const PACKAGES = join(import.meta.dirname, '../..');
const TEMPLATE = join(import.meta.dirname, '../template');

const everyProject = HOSTS.flatMap((host) =>
  DATABASES.flatMap((database) =>
    QUERY_BUILDERS.flatMap((queryBuilder) =>
      PACKAGE_MANAGERS.map((packageManager) => ({ name: 'my-shop', host, database, queryBuilder, packageManager })),
    ),
  ),
);

const readJson = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8'));

/** The words that choose a project, as README.md writes them. */
function wordsOf({ host, database, queryBuilder, packageManager = 'npm' }: ProjectOptions): string[] {
  const databaseName = database === 'sqlite' ? 'sqlite' : 'postgresql';
  return ['every project', host, databaseName, queryBuilder, packageManager];
}

test('each folder of the template is in a project, and no two of one project give one file', () => {
  const used = new Set<string>();
  const count = (folder: string) =>
    readdirSync(join(TEMPLATE, folder), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      .length;
  const isChosen = (folder: string, words: readonly string[]) =>
    folder.split('-').every((part) => part.split('+').some((word) => words.includes(word)));
  for (const project of everyProject) {
    const words = ['every', project.host, project.database, project.queryBuilder, project.packageManager];
    const folders = readdirSync(TEMPLATE).filter((folder) => isChosen(folder, words));
    for (const folder of folders) used.add(folder);
    const copied = folders.reduce((sum, folder) => sum + count(folder), 0);
    // README.md, package.json, .gitignore, AGENTS.md, the Dockerfile and the workflow are in no folder.
    expect(Object.keys(projectFiles(project))).toHaveLength(copied + 6);
  }
  expect([...used].toSorted()).toEqual(readdirSync(TEMPLATE).toSorted());
});

test('the files of each project are those that README.md lists', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
  const rows = Array.from(readme.matchAll(/^\| `(.+)` +\| ([^|]+?) +\|/gm), ([, paths = '', of = '']) => ({
    paths,
    of,
  }));
  for (const project of everyProject) {
    const words = wordsOf(project);
    const listed = rows.filter(({ of }) => of.split(', ').some((word) => words.includes(word.toLowerCase())));
    expect(Object.keys(projectFiles(project)).toSorted()).toEqual(
      listed.flatMap(({ paths }) => paths.split('`, `')).toSorted(),
    );
  }
});

test('the README.md of a project names each source file, and none that is missing', () => {
  for (const project of everyProject) {
    const files = projectFiles(project);
    const named = Array.from(files['README.md']?.matchAll(/`((?:src|test)\/[\w./]+)`/g) ?? [], ([, path = '']) => path);
    expect(named.toSorted()).toEqual(
      Object.keys(files)
        .filter((path) => /^(src|test)\/[^/]+$/.test(path))
        .toSorted(),
    );
  }
});

test('compose.yaml has the database of .env.development', () => {
  const read = (file: string) => readFileSync(join(TEMPLATE, 'postgres', file), 'utf8');
  const { environment, ports } = parse(read('compose.yaml')).services.database;
  const url = new URL(read('.env.development').replace(/[^]*DATABASE_URL=/, ''));
  expect([url.username, url.password]).toEqual([environment.POSTGRES_USER, environment.POSTGRES_PASSWORD]);
  // The image names the database after the user.
  expect([url.pathname, `${url.host}:5432`]).toEqual([`/${environment.POSTGRES_USER}`, ports[0]]);
});

test('the workflow compares the transactions of the tests with those of the branch', () => {
  for (const project of everyProject) {
    const { steps } = parse(projectFiles(project)['.github/workflows/ci.yml'] ?? '').jobs.test;
    expect(steps.map(({ run = '' }) => run)).toContainEqual(
      expect.stringMatching(/^[a-z ]+ ambit check --base \S+[^-]*--github --plans -- (npm|pnpm|yarn|bun) run test$/),
    );
  }
});

test('every version is the one that this repository is tested with', () => {
  const tested = new Map<string, Set<string>>();
  for (const folder of ['..', ...readdirSync(PACKAGES).filter((name) => name !== 'create-ambit')]) {
    const manifest = readJson(PACKAGES, folder, 'package.json');
    const ranges = { ...manifest.dependencies, ...manifest.devDependencies, [manifest.name]: manifest.version };
    for (const [name, range] of Object.entries<string>(ranges))
      if (range !== '*') tested.set(name, (tested.get(name) ?? new Set()).add(range.replace('^', '')));
  }
  for (const [name, range] of Object.entries<string>(readJson(PACKAGES, 'create-ambit/package.json').devDependencies)) {
    expect(range).toMatch(/^\^/);
    // No other package has tsx: tools/create.mjs alone tests its version.
    if (name !== 'tsx') expect([name, [...(tested.get(name) ?? [])]]).toEqual([name, [range.slice(1)]]);
  }
});
