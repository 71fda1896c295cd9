// Projects of users, each in a folder of its own with the packed packages: settings of TypeScript that import every entry point, and test runners.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { installed } from '../on-node.mjs';
import { entryPointsOf, manifestOf, publicPackages } from '../entry-points.mjs';
import { packInto } from '../packed.mjs';

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {string[][]} commands that run one after the other, each of which prints `ok` at the end or is a test runner
 * @property {string} [refusal] what the last one says where it does not work, so that the page names the true limit
 * @property {(line: string) => boolean} [isOurs] an error with which the first one may not fail; with others it may
 * @property {() => string} [prepare] writes the project, and returns its folder
 */
/** @typedef {{ name: string, type: 'commonjs' | 'module', options: Record<string, string | boolean> }} Setting */
/** @typedef {{ name: string, version: string, heading: string, refusal?: string }} Runner */

const root = resolve(import.meta.dirname, '../..');
const home = join(root, '.cache/projects');

const VERSIONS = ['5.4', '5.5', '5.6', '5.7', '5.8', '5.9', '6.0', '7.0'];

/** @type {Setting[]} */
const SETTINGS = [
  { name: 'commonjs', type: 'commonjs', options: { module: 'commonjs' } },
  { name: 'node10', type: 'commonjs', options: { module: 'commonjs', moduleResolution: 'node' } },
  { name: 'node16 in CommonJS', type: 'commonjs', options: { module: 'node16' } },
  { name: 'nodenext in CommonJS', type: 'commonjs', options: { module: 'nodenext' } },
  { name: 'node16', type: 'module', options: { module: 'node16' } },
  { name: 'nodenext', type: 'module', options: { module: 'nodenext' } },
  { name: 'bundler', type: 'module', options: { module: 'esnext', moduleResolution: 'bundler' } },
  {
    name: 'checked declarations',
    type: 'module',
    options: { module: 'nodenext', skipLibCheck: false },
  },
];

/**
 * What a setting needs besides, or the error with which the compiler refuses it.
 * @type {Record<string, { also?: Record<string, string>, refusal?: string }>}
 */
const EXCEPTIONS = {
  'node10, TypeScript 6.0': { also: { ignoreDeprecations: '6.0' } },
  'node10, TypeScript 7.0': { refusal: 'TS5108' },
};

/** Each is configured as the first block under its heading on the page says. @type {Runner[]} */
const RUNNERS = [
  { name: 'Jest', version: '29.3.1', heading: 'Jest', refusal: "Cannot find module '#platform'" },
  { name: 'Jest', version: '29.4.0', heading: 'Jest' },
  { name: 'Jest', version: '30', heading: 'Jest' },
  { name: 'Jest', version: '29.4.0', heading: 'Jest with ES modules' },
  { name: 'Jest', version: '30', heading: 'Jest with ES modules' },
  { name: 'Jest', version: '29.4.0', heading: 'ts-jest' },
  { name: 'Jest', version: '30', heading: 'ts-jest' },
  { name: 'Vitest', version: '3', heading: 'Vitest and Vite' },
  { name: 'Vitest', version: '4', heading: 'Vitest and Vite' },
  { name: 'Vitest', version: '5', heading: 'Vitest and Vite' },
];

const COMPILER_OPTIONS = {
  target: 'ES2022',
  strict: true,
  types: ['node'],
  skipLibCheck: true,
  rootDir: '.',
  outDir: 'out',
};

/** Neither checks of null nor `esModuleInterop`. */
const OF_NEST = { emitDecoratorMetadata: true, experimentalDecorators: true, strictNullChecks: false };

const BESIDE_JEST = {
  '@babel/core': '7',
  '@babel/preset-typescript': '7',
  '@babel/plugin-transform-modules-commonjs': '7',
  'ts-jest': '29',
  typescript: '5.9',
  '@types/node': '20',
};
/** The parts of Jest allow newer ones of each other: these stay at the version of the row, so that it is the whole of it. */
const PARTS_OF_JEST = [
  'babel-jest',
  '@jest/globals',
  '@jest/core',
  'jest-cli',
  'jest-config',
  'jest-resolve',
  'jest-runtime',
];

/** @type {Row[]} */
export const PROJECTS = [
  ...SETTINGS.flatMap((setting) => VERSIONS.map((version) => typescriptRow(setting, version))),
  ...RUNNERS.map(runnerRow),
  nestRow('ts-jest'),
  nestRow('SWC'),
];

/** @param {Setting} setting @param {string} version @returns {Row} */
function typescriptRow({ name: setting, type, options }, version) {
  const name = `${setting}, TypeScript ${version}`;
  const { also, refusal } = EXCEPTIONS[name] ?? {};
  const compile = [
    'node',
    '20',
    join('..', '..', `typescript-${version}`, 'node_modules/typescript/bin/tsc'),
    '-p',
    '.',
  ];
  return {
    name,
    ...(refusal && { refusal }),
    // Checked are those of every peer as well, some of which need a newer compiler.
    ...(options['skipLibCheck'] === false && {
      isOurs: (line) => /^(?!\.\.\/node_modules\/(?!@ambit\/)).*error TS/.test(line),
    }),
    commands: refusal ? [compile] : [compile, ['node', '20', '--no-warnings', 'out/main.js']],
    prepare() {
      installed('typescript', version, 'typescript/bin/tsc');
      installPeers();
      supply(home);
      const specifiers = publicPackages(root).flatMap((folder) =>
        entryPointsOf(manifestOf(folder)).map(({ specifier }) => specifier),
      );
      return project(home, name, type, {
        'tsconfig.json': JSON.stringify({
          compilerOptions: {
            ...COMPILER_OPTIONS,
            ...options,
            ...also,
          },
          files: ['main.ts'],
        }),
        'entry-points.ts': [
          ...specifiers.map((specifier, i) => `import * as entry${i} from '${specifier}';`),
          'export const entryPoints: Record<string, object> = {',
          ...specifiers.map((specifier, i) => `  '${specifier}': entry${i},`),
          '};\n',
        ].join('\n'),
      });
    },
  };
}

/** @param {Runner} runner @returns {Row} */
function runnerRow({ name: runner, version, heading, refusal }) {
  const name = `${runner} ${version}, ${heading}`;
  const sqlite = '@photostructure/sqlite';
  const database = { [sqlite]: manifestOf(join(root, 'packages/transaction')).peerDependencies?.[sqlite] };
  const folder = join(root, '.cache', `${runner.toLowerCase()}-${version}`);
  if (runner === 'Vitest')
    return {
      name,
      // Vitest 5 needs Node 22.
      commands: [['node', '24', '../node_modules/vitest/vitest.mjs', 'run']],
      prepare() {
        install(folder, { dependencies: { vitest: version, ...database } });
        supply(folder);
        const test = FILES['orders.test.ts']?.replace('@jest/globals', 'vitest') ?? '';
        return project(folder, name, 'module', { 'vitest.config.js': 'export default {};\n', 'orders.test.ts': test });
      },
    };
  const isEsm = heading === 'Jest with ES modules';
  const flags = isEsm ? ['--experimental-vm-modules'] : [];
  return {
    name,
    ...(refusal && { refusal }),
    commands: [['node', '20', '--no-warnings', ...flags, '../node_modules/jest/bin/jest.js']],
    prepare() {
      const parts = Object.fromEntries(PARTS_OF_JEST.map((part) => [part, version]));
      install(folder, {
        dependencies: { jest: version, ...database, ...BESIDE_JEST, 'babel-jest': version, '@jest/globals': version },
        ...(version.includes('.') && { overrides: parts }),
      });
      supply(folder);
      return project(folder, name, isEsm ? 'module' : 'commonjs', {
        'jest.config.json': firstBlock(heading),
        'tsconfig.json': firstBlock('CommonJS projects'),
      });
    },
  };
}

/** The unit test of a controller, with the settings that the page of NestJS says. @param {'ts-jest' | 'SWC'} compiler @returns {Row} */
function nestRow(compiler) {
  const name = `Jest 30 with NestJS 11, ${compiler}`;
  const folder = join(root, '.cache/jest-nest-11');
  const jest = { jest: '30', '@types/jest': '30', 'ts-jest': '29', '@swc/jest': '0.2', '@swc/core': '1' };
  const nest = { '@nestjs/common': '11', '@nestjs/core': '11', '@nestjs/testing': '11', 'reflect-metadata': '0.2' };
  return {
    name,
    commands: [['node', '20', '--no-warnings', '../node_modules/jest/bin/jest.js']],
    prepare() {
      install(folder, {
        dependencies: { ...jest, ...nest, rxjs: '7', pg: '8', typescript: '5.9', '@types/node': '20' },
      });
      supply(folder);
      const config = JSON.parse(firstBlock('Tests', readFileSync(join(root, 'packages/nest/README.md'), 'utf8')));
      const parser = { syntax: 'typescript', decorators: true };
      const transform = { legacyDecorator: true, decoratorMetadata: true };
      if (compiler === 'SWC') config.transform = { '\\.[tj]s$': ['@swc/jest', { jsc: { parser, transform } }] };
      const compilerOptions = { ...OF_NEST, target: 'ES2023', module: 'commonjs', skipLibCheck: true };
      const made = project(folder, name, 'commonjs', {
        'jest.config.json': JSON.stringify(config),
        'tsconfig.json': JSON.stringify({ compilerOptions }),
        'src/orders.controller.spec.ts': readFileSync(join(import.meta.dirname, 'unit-test.ts'), 'utf8'),
      });
      return made;
    },
  };
}

const page = readFileSync(join(root, 'docs/guides/compilers-and-runtimes.md'), 'utf8');

/** The first block of settings below a heading of a page. @param {string} heading */
function firstBlock(heading, text = page) {
  const section = text.split(/^##+ /m).find((part) => part.startsWith(`${heading}\n`));
  const [, block] = /```json\n([^]*?)```/.exec(section ?? '') ?? [];
  if (!block) throw new Error(`There are no settings under '${heading}'`);
  return block;
}

/** The files of every project. @type {Record<string, string>} */
const FILES = {
  'main.ts': `import { entryPoints } from './entry-points.js';
import { storedProducts } from './orders.js';

async function main(): Promise<void> {
  for (const [name, exported] of Object.entries(entryPoints))
    // The one entry point that only acts, as a set-up file of unit tests.
    if (name !== '@ambit/nest/testing' && Object.keys(exported).length === 0) throw new Error(\`\${name} exports nothing\`);
  const stored = (await storedProducts()).join();
  if (stored !== 'pen') throw new Error(\`stored: \${stored}\`);
  console.log('ok');
}

void main();
`,
  'orders.test.ts': `import { expect, test } from '@jest/globals';
import { storedProducts } from './orders';

test('a transaction that fails leaves no row', async () => {
  expect(await storedProducts()).toEqual(['pen']);
});
`,
  'orders.ts': readFileSync(join(import.meta.dirname, 'orders.ts'), 'utf8'),
};

/**
 * Writes a project beside the packages that it uses.
 * @param {string} beside
 * @param {string} name
 * @param {string} type
 * @param {Record<string, string>} files
 */
function project(beside, name, type, files) {
  const folder = join(beside, name.replaceAll(/[ ,]+/g, '-'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'src'), { recursive: true });
  for (const [file, text] of Object.entries({ ...FILES, 'package.json': JSON.stringify({ type }), ...files }))
    writeFileSync(join(folder, file), text);
  return folder;
}

/** The folders that have what the packages are now. @type {Set<string>} */
const supplied = new Set();
/** @type {Record<string, string> | undefined} */
let tarballs;

/** Puts the packages into the `node_modules` of a folder. @param {string} folder */
export function supply(folder) {
  if (supplied.has(folder)) return;
  supplied.add(folder);
  if (!tarballs) {
    const scratch = mkdtempSync(join(tmpdir(), 'ambit-matrix-'));
    process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
    tarballs = packInto(scratch);
  }
  rmSync(join(folder, 'node_modules/@ambit'), { recursive: true, force: true });
  for (const [name, tarball] of Object.entries(tarballs)) {
    const target = join(folder, 'node_modules', name);
    mkdirSync(target, { recursive: true });
    run('tar', ['-xzf', tarball, '--strip-components=1', '-C', target], folder);
  }
}

/** Installs every peer that a manifest names, in the newest version that it allows. */
function installPeers() {
  const named = publicPackages(root).flatMap((folder) => {
    const { dependencies = {}, peerDependencies = {} } = manifestOf(folder);
    return Object.entries({ ...dependencies, ...peerDependencies }).filter(([name]) => !name.startsWith('@ambit/'));
  });
  // pg is written in JavaScript: its users with TypeScript have these.
  install(home, { dependencies: { ...Object.fromEntries(named), '@types/node': '20', '@types/pg': '8' } });
}

/** Installs what a manifest names, unless that is done. @param {string} folder @param {object} manifest */
function install(folder, manifest) {
  const wanted = JSON.stringify({ private: true, ...manifest });
  const done = join(folder, 'installed.json');
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), wanted);
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], folder);
  writeFileSync(done, wanted);
}

/** @param {string} command @param {string[]} args @param {string} cwd */
function run(command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
}
