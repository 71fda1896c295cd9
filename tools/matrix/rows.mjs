// One row for each way to run the container: commands that run one after the other, each of which prints `ok` at the end.
const NODE_FLAGS = [
  [],
  ['--disallow-code-generation-from-strings'],
  ['--frozen-intrinsics', '--no-warnings'],
  ['--permission', '--allow-fs-read=*'],
];

/** @param {string} version @param {string[]} args */
const onNode = (version, ...args) => ['node', version, ...args];

/** @param {string} version @param {string[]} flags */
const flagsOf = (version, flags) =>
  version === '20' ? flags.map((flag) => flag.replace('--permission', '--experimental-permission')) : flags;

const nodes = ['20', '22', '24', '26'].map((version) => ({
  name: `Node ${version}`,
  commands: [
    ...NODE_FLAGS.map((flags) => onNode(version, ...flagsOf(version, flags), 'main.js')),
    ...(version === '20' ? [] : [onNode(version, '--no-warnings', 'stripped.ts')]),
  ],
}));

/** Another program of the matrix's own packages. @param {string} file @param {string[]} args */
const tool = (file, ...args) => onNode('20', `../node_modules/${file}`, ...args);

/** @type {import('./projects.mjs').Row[]} */
export const ROWS = [
  ...nodes,
  {
    name: 'Node 20.18, require()',
    commands: [onNode('20.18', '-e', "require('@ambit/container')")],
    refusal: 'ERR_REQUIRE_ESM',
  },
  {
    name: 'tsx',
    commands: [
      tool('tsx/dist/cli.mjs', 'decorated-main.ts'),
      tool('tsx/dist/cli.mjs', '--tsconfig', 'legacy/tsconfig.json', 'legacy/main.ts'),
    ],
  },
  { name: 'ts-node', commands: [onNode('20', '--no-warnings', '--loader', 'ts-node/esm', 'legacy/main.ts')] },
  {
    name: 'swc',
    commands: [onNode('20', '--no-warnings', '--import', '@swc-node/register/esm-register', 'legacy/main.ts')],
  },
  {
    name: 'esbuild, minified',
    commands: [
      onNode('20', 'bundle.mjs', 'esbuild', 'decorated-main.ts'),
      onNode('20', 'bundle.mjs', 'esbuild', 'legacy/main.ts'),
    ],
  },
  {
    name: 'rolldown',
    commands: [
      onNode('20', 'bundle.mjs', 'rolldown', 'main.js'),
      onNode('20', 'bundle.mjs', 'rolldown', 'legacy/main.ts'),
    ],
  },
  { name: 'Babel', commands: [onNode('20', 'bundle.mjs', 'babel', 'decorated-main.ts')] },
  { name: 'vitest 5', commands: [onNode('24', '../node_modules/vitest/vitest.mjs', 'run', '--root', 'legacy')] },
  { name: 'vitest 4', commands: [onNode('24', '../node_modules/vitest-4/vitest.mjs', 'run', '--root', 'legacy')] },
  {
    name: 'Jest, ESM',
    commands: [
      onNode(
        '20',
        '--no-warnings',
        '--experimental-vm-modules',
        '../node_modules/jest/bin/jest.js',
        '--config',
        'jest-esm/jest.config.json',
      ),
    ],
  },
  { name: 'Jest, CommonJS', commands: [tool('jest/bin/jest.js', '--config', 'jest-commonjs/jest.config.json')] },
  {
    name: 'Bun',
    commands: [
      ['bun', 'run', 'main.js'],
      ['bun', 'run', '--tsconfig-override', 'legacy/tsconfig.json', 'legacy/main.ts'],
    ],
  },
  {
    name: 'Deno',
    commands: [
      ['deno', 'run', '--allow-read', '--allow-env', 'main.js'],
      ['deno', 'run', '--allow-read', '--allow-env', '--unstable-sloppy-imports', 'stripped.ts'],
    ],
  },
  { name: 'workerd', commands: [onNode('22', 'workerd.mjs')] },
  { name: 'Chromium, strict CSP', commands: [onNode('20', 'browser.mjs')] },
];

/** The small files of the probes, by their paths. @type {Record<string, string>} */
export const FILES = {
  'babel.json': JSON.stringify({
    presets: ['@babel/preset-typescript'],
    plugins: [['@babel/plugin-proposal-decorators', { version: '2023-11' }]],
  }),
  'decorated-main.ts': `import { decorated } from './decorated.ts';

console.log(await decorated());
`,
  'jest-commonjs/container.test.ts': `import { Container, Registration, singleton } from '@ambit/container';
import { verify } from '@ambit/container/tools';

class Pool {
  isOpen = true;
  dispose() {
    this.isOpen = false;
  }
}

test('the container works', async () => {
  const app = new Container().addRegistration(Registration.fromClass(Pool).pipe(singleton()).to('IPool'));
  verify(app);
  const pool = app.resolve<Pool>('IPool');
  await app.dispose();
  expect(pool.isOpen).toBe(false);
});
`,
  'jest-commonjs/jest.config.json': JSON.stringify({
    testMatch: ['**/*.test.ts'],
    transform: {
      '\\.[jt]s$': [
        'babel-jest',
        { presets: ['@babel/preset-typescript'], plugins: ['@babel/plugin-transform-modules-commonjs'] },
      ],
    },
    transformIgnorePatterns: ['/node_modules/(?!@ambit/)'],
  }),
  'jest-commonjs/package.json': JSON.stringify({ type: 'commonjs' }),
  'jest-esm/container.test.js': `import { probe } from '../probe.js';

test('the container works', async () => {
  expect(await probe()).toBe('ok');
});
`,
  'jest-esm/jest.config.json': JSON.stringify({ testMatch: ['**/*.test.js'], transform: {} }),
  'legacy/main.ts': `import { legacy } from './legacy.js';

void legacy().then(console.log);
`,
  'legacy/tsconfig.json': JSON.stringify({
    compilerOptions: {
      target: 'ES2022',
      module: 'NodeNext',
      strict: true,
      skipLibCheck: true,
      experimentalDecorators: true,
      allowJs: true,
      noEmit: true,
    },
    include: ['.'],
  }),
  'legacy/vitest.config.js': `export default { test: { include: ['vitest.test.ts'] } };
`,
  'legacy/vitest.test.ts': `import { expect, test } from 'vitest';
import { legacy } from './legacy.js';

test('the container works', async () => {
  expect(await legacy()).toBe('ok');
});
`,
  'main.js': `import { probe } from './probe.js';

console.log(await probe());
`,
  'package.json': JSON.stringify({ type: 'module' }),
};
