import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { brokenRules } from '../layering.mjs';

describe('layering', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'layering-'));
    workspace({
      'package.json': { devDependencies: { vitest: '4' } },
      'packages/container/package.json': { name: '@ambit/container', dependencies: { 'reflect-metadata': '0.2' } },
      'packages/transaction/package.json': { name: '@ambit/transaction', dependencies: { '@ambit/container': '0' } },
      'packages/express/package.json': { name: '@ambit/express', dependencies: { '@ambit/container': '0' } },
    });
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function workspace(files: Record<string, string | object>): void {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content));
    }
  }

  it('lets arrows point down', () => {
    workspace({
      'packages/container/src/index.ts': `import 'reflect-metadata'; export * from './scope.js';`,
      'packages/container/test/a.test.ts': `import { it } from 'vitest'; import { x } from '../src/index.js';`,
      'packages/transaction/src/index.ts': `import { Container } from '@ambit/container';`,
    });
    expect(brokenRules(root)).toEqual([]);
  });

  it.each([
    [`import { x } from '@ambit/transaction';`],
    [`import type { X } from '@ambit/transaction';`],
    [`export * from '@ambit/transaction';`],
    [`export type X = import('@ambit/transaction').X;`],
    [`const quote = /'/; await import('@ambit/transaction');`],
  ])('refuses an import that points upward: %s', (source) => {
    workspace({ 'packages/container/src/index.ts': source });
    expect(brokenRules(root)).toEqual([`packages/container/src/index.ts points upward with '@ambit/transaction'`]);
  });

  it('refuses it in tests too', () => {
    workspace({ 'packages/container/test/a.test.ts': `import { x } from '@ambit/express';` });
    expect(brokenRules(root)).toEqual([`packages/container/test/a.test.ts points upward with '@ambit/express'`]);
  });

  it('refuses a dependency that points upward', () => {
    workspace({
      'packages/container/package.json': { name: '@ambit/container', devDependencies: { '@ambit/express': '0' } },
    });
    expect(brokenRules(root)).toEqual(['packages/container/package.json points upward: @ambit/express']);
  });

  it('refuses a relative import that leaves its package', () => {
    workspace({ 'packages/express/src/index.ts': `import { x } from '../../container/src/index.js';` });
    expect(brokenRules(root)).toEqual([
      `packages/express/src/index.ts leaves its package with '../../container/src/index.js'`,
    ]);
  });

  it('refuses every module of Node in the package for hosts that are none', () => {
    workspace({
      'packages/fetch/package.json': { name: '@ambit/fetch' },
      'packages/fetch/src/index.ts': `import { AsyncLocalStorage } from 'node:async_hooks';`,
      'packages/fetch/test/a.test.ts': `import { createServer } from 'node:http';`,
    });
    expect(brokenRules(root)).toEqual([`packages/fetch/src/index.ts must know nothing of 'node:async_hooks'`]);
  });

  it('refuses HTTP in the container and SQL in a host', () => {
    workspace({
      'packages/container/src/index.ts': `import { createServer } from 'node:http';`,
      'packages/express/src/index.ts': `import { postgres } from '@ambit/transaction/postgres';`,
    });
    expect(brokenRules(root)).toEqual([
      `packages/container/src/index.ts must know nothing of 'node:http'`,
      `packages/express/src/index.ts must know nothing of '@ambit/transaction/postgres'`,
    ]);
  });

  it('refuses an undeclared dependency, and a development one in source', () => {
    workspace({
      'packages/container/src/index.ts': `import 'lodash/get'; import { it } from 'vitest';`,
    });
    expect(brokenRules(root)).toEqual([
      `packages/container/src/index.ts is not allowed by its package.json to use 'lodash/get'`,
      `packages/container/src/index.ts is not allowed by its package.json to use 'vitest'`,
    ]);
  });

  it('refuses an import cycle of values within a package', () => {
    workspace({
      'packages/container/src/a.ts': `import { b } from './b.js';`,
      'packages/container/src/b.ts': `export * from './deep/c.js';`,
      'packages/container/src/deep/c.ts': `import { a } from '../a.js';`,
    });
    expect(brokenRules(root)).toEqual([
      `packages/container/src has an import cycle: a.ts -> b.ts -> deep/c.ts -> a.ts`,
    ]);
  });

  it.each([
    ['types', `import type { B } from './b.js';`],
    ['a type in place', `export type B = import('./b.js').B;`],
  ])('lets %s of a package refer to each other', (_, first) => {
    workspace({
      'packages/container/src/a.ts': first,
      'packages/container/src/b.ts': `import { a } from './a.js';`,
    });
    expect(brokenRules(root)).toEqual([]);
  });

  it('refuses a file that imports itself', () => {
    workspace({ 'packages/container/src/a.ts': `import { a } from './a.js';` });
    expect(brokenRules(root)).toEqual([`packages/container/src has an import cycle: a.ts -> a.ts`]);
  });

  it('lets two files of a package import a third', () => {
    workspace({
      'packages/container/src/a.ts': `import { b } from './b.js'; import { c } from './c.js';`,
      'packages/container/src/b.ts': `import { c } from './c.js';`,
      'packages/container/src/c.ts': '',
    });
    expect(brokenRules(root)).toEqual([]);
  });

  it('lets a package of types alone be imported without its prefix', () => {
    workspace({
      'examples/package.json': { name: '@ambit/examples', devDependencies: { '@types/aws-lambda': '8' } },
      'examples/lambda.ts': `import type { Context } from 'aws-lambda';`,
    });
    expect(brokenRules(root)).toEqual([]);
  });

  it('does not read comments or strings', () => {
    workspace({
      'packages/container/src/index.ts': `/** import x from '@ambit/express' */ export const s = "import 'pg'";`,
    });
    expect(brokenRules(root)).toEqual([]);
  });

  it('refuses a package the table does not know', () => {
    workspace({ 'packages/extra/package.json': { name: '@ambit/extra' } });
    expect(brokenRules(root)).toEqual(['packages/extra is not in the table of packages in scripts/layering.mjs']);
  });
});
