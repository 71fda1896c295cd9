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

  it.each(['the stack', 'a stack of which the message was changed'])('is no line of its message: %s', (what) => {
    const error = errorWith('sold out\n    at canary (/canary.js:1:1)\n', 'place (/app/orders.js:1:2)');
    if (what !== 'the stack') error.message = 'It failed';
    expect(new Where(error).line).toBe('/app/orders.js:1:2');
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

  it('of a time limit is not the class of all errors of the web', async () => {
    const aborted = await new Promise((resolve) => {
      const signal = AbortSignal.timeout(1);
      signal.addEventListener('abort', () => resolve(signal.reason));
    });
    expect(errorName(aborted)).toBe('TimeoutError');
  });
});
