import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { Where } from '../src/where.js';

const HERE = /^packages\/inspector\/test\/where\.test\.ts:\d+:\d+$/;

function errorWith(message: string, ...frames: readonly string[]): Error {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n');
  return error;
}

describe('the line of an error', () => {
  it.each([
    ['a method', 'async Orders.place [as run] (/app/orders.js:1:2)', '/app/orders.js:1:2'],
    ['an anonymous function', 'async file:///app/orders.js:1:2', '/app/orders.js:1:2'],
    ['Windows', String.raw`new Orders (C:\app\orders.js:1:2)`, String.raw`C:\app\orders.js:1:2`],
    [
      'a folder with parentheses',
      String.raw`C:\Program Files (x86)\app\orders.js:1:2`,
      String.raw`C:\Program Files (x86)\app\orders.js:1:2`,
    ],
    ['a folder with parentheses and a function', 'place (/srv/my (app)/orders.js:1:2)', '/srv/my (app)/orders.js:1:2'],
    ['a source of a bundler', 'place (webpack://app/src/orders.ts:1:2)', 'webpack://app/src/orders.ts:1:2'],
    ['another machine', 'place (file://machine/app/orders.js:1:2)', 'file://machine/app/orders.js:1:2'],
  ])('is read on %s', (_, frame, line) => {
    expect(new Where(errorWith('sold out', frame)).line).toBe(line);
  });

  it.each([
    'eval (eval at place (/app/orders.js:3:5), <anonymous>:1:1)',
    'place (data:text/javascript,export%20const%20a=1:1:2)',
    'Module._compile (node:internal/modules/cjs/loader:1:2)',
    String.raw`query (C:\app\node_modules\pg\client.js:1:2)`,
    'Array.map (<anonymous>)',
    'async Promise.all (index 0)',
  ])('is none of code without a file of the application: %s', (frame) => {
    expect(new Where(errorWith('sold out', frame, 'place (/app/orders.js:1:2)')).line).toBe('/app/orders.js:1:2');
  });

  it.each(['the stack', 'a stack of which the message was changed'])('is no line of its message: %s', (what) => {
    const error = errorWith('sold out\n    at canary (/canary.js:1:1)\n', 'place (/app/orders.js:1:2)');
    if (what !== 'the stack') error.message = 'It failed';
    expect(new Where(error).line).toBe('/app/orders.js:1:2');
  });

  it('is none where the stack cannot be read', () => {
    const error = Object.defineProperty(new Error('sold out'), 'stack', {
      get: () => {
        throw new Error('no stack');
      },
    });
    expect(new Where(error).line).toBeUndefined();
    expect(new Where(Object.assign(new Error('sold out'), { stack: 42 })).line).toBeUndefined();
  });
});

describe('the line of a call', () => {
  it('is the nearest one of the application, also through code that has no file', () => {
    const make = (): Where => new Where();
    expect(make().line).toMatch(HERE);
    expect((runInNewContext('(make) => make()') as (made: () => Where) => Where)(make).line).toMatch(HERE);
    // oxlint-disable-next-line typescript/no-implied-eval -- code without a file
    expect((new Function('make', 'return make()') as (made: () => Where) => Where)(make).line).toMatch(HERE);
  });
});

describe('with source maps', () => {
  /** Runs a program that was compiled with a source map, and returns the lines that it prints. */
  function linesOf(source: string, sourcefile: string): string[] {
    const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
    try {
      const { code } = transformSync(source, { loader: 'ts', sourcemap: 'inline', sourcefile });
      writeFileSync(join(folder, 'orders.mjs'), code);
      const args = ['--enable-source-maps', 'orders.mjs'];
      const dist = fileURLToPath(new URL('../dist/', import.meta.url));
      const env = { ...process.env, DIST: dist, NODE_OPTIONS: '' };
      return JSON.parse(execFileSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' })) as string[];
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  const SOURCE = `interface Order {
  readonly id: number;
}
interface Line {
  readonly order: Order;
}

const { Where, placeOfLine } = await import(process.env['DIST'] + 'where.js');
const lines: (string | null)[] = [];
function place(order: Order): void {
  lines.push(new Where().line ?? null);
  lines.push(new Where(new Error('sold out')).line ?? null);
  Error.prepareStackTrace = (_, sites) => sites[0]?.getLineNumber();
  const compiled = new Error().stack;
  Error.prepareStackTrace = undefined;
  lines.push(placeOfLine(import.meta.url, compiled) ?? null);
}
place({ id: 1 });
console.log(JSON.stringify(lines));
`;

  it('is that of the source, which has the same name, also for an error, whose stack names the source already', () => {
    expect(linesOf(SOURCE, 'orders.mjs')).toEqual([
      'orders.mjs:11:14',
      'orders.mjs:12:24',
      expect.stringMatching(/^orders\.mjs:14:\d+$/),
    ]);
  });

  it('is none of a dependency in a bundle', () => {
    expect(linesOf(SOURCE, 'node_modules/pg/client.ts')).toEqual([null, null, null]);
  });
});
