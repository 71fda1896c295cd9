import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { withoutValues } from '../src/channels.js';
import { errorName } from '../src/names.js';
import { Where } from '../src/where.js';

const HERE = /^packages\/inspector\/test\/texts\.test\.ts:\d+:\d+$/;

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

describe('the text of a statement, without values', () => {
  // The tests of `@ambit/opentelemetry` have all forms of literals.
  it.each([
    ["SELECT * FROM users WHERE name = 'Ada' AND id = $1", "SELECT * FROM users WHERE name = '…' AND id = $1"],
    ['VALUES (42, -1.5, $$secret$$, "a 1")', `VALUES (?, -?, '…', "a 1")`],
    [String.raw`WHERE a = 'it\'s secret' OR b = 'secret'`, "WHERE a = '…'"],
    ['WHERE a = "ada@example.org" AND "b c".d', `WHERE a = '…' AND "b c".d`],
    ['  SELECT 1 -- trace 4711\n  FROM t /* user 42 */  ', 'SELECT ? FROM t'],
  ])('%s', (sql, shown) => {
    expect(withoutValues(sql)).toBe(shown);
  });

  it('is cut to 2,000 characters', () => {
    expect(withoutValues(`SELECT ${'a, '.repeat(5000)} b`)).toHaveLength(2001);
  });
});

describe('the name of an error', () => {
  const refused = (fields: object): Error =>
    new Error('23503 violated by canary', { cause: Object.assign(new Error('canary'), { code: '23503' }, fields) });

  it.each([
    ['pg', { constraint: 'orders_voucher_fkey', table: 'orders', detail: 'Key (voucher)=(canary)' }],
    ['postgres.js', { constraint_name: 'orders_voucher_fkey', table_name: 'orders' }],
  ])('has the constraint that was violated, and its table, as %s says them', (_, fields) => {
    expect(errorName(refused(fields))).toBe('Error 23503 foreign key violation of orders_voucher_fkey on orders');
  });

  it('has nothing else from fields with these names', () => {
    const own = Object.assign(new Error('canary'), { constraint: 'canary', table: 'canary' });
    const get = (): never => {
      throw new Error('canary');
    };
    const unreadable = Object.defineProperty(new Error('canary'), 'constraint', { get });
    const odd = refused({ table: "can'ary", constraint: 7 });
    for (const error of [own, Object.assign(unreadable, { code: '23505' }), odd])
      expect(errorName(error)).not.toMatch(/canary|can'ary|7/);
  });

  it('of a time limit is not the class of all errors of the web', async () => {
    const aborted = await new Promise((resolve) => {
      const signal = AbortSignal.timeout(1);
      signal.addEventListener('abort', () => resolve(signal.reason));
    });
    expect(errorName(aborted)).toBe('TimeoutError');
  });
});
