import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { transformSync } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../src/messages.js';
import { errorName } from '../src/names.js';
import { Where } from '../src/where.js';

const STATUS = 429;
const RAISED = 'PL/pgSQL function check_stock(integer) line 3 at RAISE';
const CANCELED = 'canceling statement due to statement timeout';
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
    ['a folder with parentheses', String.raw`C:\a (x86)\orders.js:1:2`, String.raw`C:\a (x86)\orders.js:1:2`],
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

it('the line of a helper has its caller, which is the next one in another file', () => {
  const frames = ['ask (/app/http.js:1:2)', 'send (/app/http.js:9:9)', 'async Orders.place (/app/orders.js:3:4)'];
  expect(new Where(errorWith('refused', ...frames))).toMatchObject({
    line: '/app/http.js:1:2',
    caller: '/app/orders.js:3:4',
  });
});

it('the line of a call is the nearest one of the application, also through code that has no file', () => {
  const make = (): Where => new Where();
  const without = runInNewContext('(make) => make()') as (made: () => Where) => Where;
  expect([make().line, without(make).line]).toEqual([expect.stringMatching(HERE), expect.stringMatching(HERE)]);
});

it('with source maps a line is that of the source, also of an error, whose stack names the source already', () => {
  const source = `interface Order {
  readonly id: number;
}
const { Where, placeOf } = await import(process.env['DIST'] + 'where.js');
const lines: (string | null)[] = [];
function place(order: Order): void {
  lines.push(new Where().line ?? null);
  lines.push(new Where(new Error('sold out')).line ?? null);
  Error.prepareStackTrace = (_, sites) => sites[0]?.getLineNumber();
  const compiled = new Error().stack;
  Error.prepareStackTrace = undefined;
  lines.push(placeOf(import.meta.url, compiled) ?? null);
}
place({ id: 1 });
console.log(JSON.stringify(lines));
`;
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { code } = transformSync(source, { loader: 'ts', sourcemap: 'inline', sourcefile: 'orders.mjs' });
  writeFileSync(join(folder, 'orders.mjs'), code);
  const env = { ...process.env, DIST: fileURLToPath(new URL('../dist/', import.meta.url)), NODE_OPTIONS: '' };
  const args = ['--enable-source-maps', 'orders.mjs'];
  const lines: unknown = JSON.parse(execFileSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' }));
  expect(lines).toEqual(['orders.mjs:7:14', 'orders.mjs:8:24', expect.stringMatching(/^orders\.mjs:10:\d+$/)]);
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

const shownOf = async (work: () => unknown): Promise<string | undefined> => {
  const error: unknown = await (async () => work())().catch((reason: unknown) => reason);
  return messageOf(error, Where.of(error)?.source);
};
const value = ['mar', 'ia'].join('');
const post = (fields: object): Error => Object.assign(new Error(value), fields);

it.each<[shown: string | undefined, work: () => unknown]>([
  ['the order … of … is closed', () => Promise.reject(new Error(`the order ${value} of ${value} is closed`))],
  ['the partner replied 429', () => Promise.reject(new Error(`the partner replied ${STATUS}`))],
  [undefined, () => Promise.reject(new Error(value))],
  ["Cannot read properties of undefined (reading 'price')", () => (undefined as unknown as { price: 1 }).price],
  ["Cannot read properties of undefined (reading '…')", () => (undefined as unknown as Record<string, 1>)[value]],
  ['the text ends before its JSON does', () => JSON.parse('') as unknown],
  ['the text is no JSON at position 1', () => JSON.parse('{') as unknown],
  ['the text is no JSON', () => JSON.parse(`{"a": ${value}}`) as unknown],
  ['to 127.0.0.1:50', () => fetch('http://127.0.0.1:50')],
  ['there is no host nowhere.invalid', () => fetch('http://nowhere.invalid')],
  ['in function check_stock(), line 3', () => Promise.reject(post({ code: 'P0001', where: RAISED }))],
  ['due to statement timeout', () => Promise.reject(post({ code: '57014', message: CANCELED }))],
  ['users.email', () => Promise.reject(new Error(`Duplicate entry '${value}' for key 'users.email'`))],
  ['UNIQUE constraint failed: users.name', () => Promise.reject(new Error('UNIQUE constraint failed: users.name'))],
])('the message of an error: %s', async (shown, work) => {
  expect(await shownOf(work)).toBe(shown);
});
