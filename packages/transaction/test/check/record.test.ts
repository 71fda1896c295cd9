import { describe, expect, it } from 'vitest';
import { changesBetween, printed } from '../../src/check/compare.js';
import { lockedTables, recordOf, statementText, type TransactionRecord, withoutIds } from '../../src/check/record.js';

describe('the record of a test run', () => {
  it.each([
    ['SELECT a\n FROM t -- all\n WHERE b = $1 AND c = 7', 'SELECT a FROM t WHERE b = ? AND c = ?'],
    ['SELECT a FROM t WHERE b in ($1)', 'SELECT a FROM t WHERE b in (?, ...)'],
    ['SELECT a FROM t WHERE b in ($1, $2,$3)', 'SELECT a FROM t WHERE b in (?, ...)'],
    ['SELECT a FROM t WHERE b IN ($1::uuid, $2::uuid)', 'SELECT a FROM t WHERE b IN (?, ...)'],
    ['SELECT f($1)', 'SELECT f(?)'],
    ["INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')", 'INSERT INTO t VALUES (?, ...), ...'],
    ['insert into t values (default, $1), (default, $2)', 'insert into t values (default, ?), ...'],
  ])('has one text for %s, whatever its values', (sql, text) => {
    expect(statementText(sql)).toBe(text);
  });

  it('shortens a long statement, and tells it from others that begin alike', () => {
    const [one, other] = ['a', 'b'].map((end) => statementText(`SELECT ${'column_name, '.repeat(50)}${end}`));
    expect([one!.length < 330, one === other]).toEqual([true, false]);
  });

  it.each([
    ['UPDATE "public"."Stock" SET level = 1', ['stock']],
    ['DELETE FROM ONLY orders WHERE id = 1', ['orders']],
    ['SELECT * FROM orders o JOIN items AS i ON true FOR UPDATE OF o', ['orders']],
    ['SELECT * FROM orders o JOIN items i ON true FOR NO KEY UPDATE', ['orders', 'items']],
    ['INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2', ['t']],
    ['INSERT INTO t (a) VALUES (1) ON CONFLICT DO NOTHING', []],
    ['SELECT * FROM jobs FOR UPDATE SKIP LOCKED', []],
    ['WITH wanted AS (SELECT 1) SELECT * FROM stock s JOIN wanted w ON true JOIN f(1) ON true FOR UPDATE', ['stock']],
    ['SELECT * FROM jobs', []],
  ])('knows which tables %s locks', (sql, tables) => {
    expect(lockedTables(sql)).toEqual(tables);
  });

  it('has no ids and no ports of the system', () => {
    const uuid = crypto.randomUUID();
    expect(withoutIds(`GET /orders/7/items/${uuid}`)).toBe('GET /orders/:id/items/:id');
    expect(withoutIds('GET /articles/how-to-train')).toBe('GET /articles/how-to-train');
    expect(withoutIds('POST http://127.0.0.1:45123/mails')).toBe('POST http://127.0.0.1/mails');
    expect(withoutIds('127.0.0.1:6379')).toBe('127.0.0.1:6379');
  });

  it('is the same in whatever order its parts were written', () => {
    const parts = [2, 1].map((times) => ({
      route: 'GET /',
      statements: { 'SELECT ?': times },
      most: times,
      held: 0,
      locks: {},
      effects: {},
      at: { 'SELECT ?': [`a.ts:${times}`] },
    }));
    expect(recordOf(parts, false)).toEqual(recordOf(parts.toReversed(), false));
    expect(recordOf(parts, false).lines).toEqual({ 'GET /': { 'SELECT ?': 'a.ts:2' } });
  });
});

it('has the line that calls a function of the application for all statements', () => {
  const texts = ['SELECT a', 'SELECT b', 'SELECT c', 'SELECT d'];
  const at = Object.fromEntries(texts.map((text, i) => [text, ['db.ts:7', `orders.ts:${i}`]]));
  const part = { route: 'GET /', statements: {}, most: 4, held: 0, locks: {}, effects: {}, at };
  expect(recordOf([part], false).lines['GET /']).toMatchObject({
    'SELECT a': 'orders.ts:0',
    'SELECT d': 'orders.ts:3',
  });
});

describe('the changes of a pull request', () => {
  const none = { statements: {}, most: 0, held: 0, locks: {}, effects: {} };
  const record = (routes: TransactionRecord['routes']): TransactionRecord => ({ version: 1, routes });
  const lines = { 'POST /orders': { 'SELECT 1': 'src/a,b.ts:44' } };
  const changes = changesBetween(
    record({ 'POST /orders': { ...none, statements: { 'SELECT 1': 1 }, most: 7 } }),
    record({
      'POST /orders': { ...none, statements: { 'SELECT 1': 25 }, most: 31, locks: { 'stock > orders': true } },
      'POST /refunds': {
        ...none,
        locks: { 'orders > stock': true },
        effects: { 'connection-write 127.0.0.1:6379': true },
      },
    }),
    lines,
  );

  it('are printed as text, with a deadlock of two routes once', () => {
    expect(printed(changes, 'ambit check', 'text').split('\n')).toEqual([
      'ambit check',
      '  POST /orders   statements 7 -> 31   N+1: SELECT 1 x 25 (was 1)   src/a,b.ts:44',
      '  POST /orders   locks stock, then orders; POST /refunds locks orders, then stock: may deadlock',
      '  POST /refunds  data sent to 127.0.0.1:6379 in the open transaction',
    ]);
  });

  it('are printed as Markdown and as annotations of GitHub', () => {
    expect(printed(changes, 'ambit check', 'markdown')).toContain(
      '| POST /orders | statements 7 -> 31   N+1: SELECT 1 x 25 (was 1) | src/a,b.ts:44 |',
    );
    expect(printed(changes, 'ambit check', 'github')).toContain(
      '\n::error file=src/a%2Cb.ts,line=44,title=ambit check%2C POST /orders::statements 7 -> 31',
    );
  });

  it('are notes where a route only does more, and none where it does less', () => {
    const before = record({ 'GET /': { ...none, statements: { 'SELECT 1': 4 }, most: 4 } });
    const after = (statements: Record<string, number>, most: number): string[] =>
      changesBetween(before, record({ 'GET /': { ...none, statements, most } })).map(
        ({ isNote, what }) => `${isNote ? 'note: ' : ''}${what}`,
      );
    expect(after({ 'SELECT 1': 3 }, 3)).toEqual([]);
    expect(after({ 'SELECT 1': 5 }, 5)).toEqual(['note: statements 4 -> 5   SELECT 1']);
    expect(after({ 'SELECT 1': 4, 'SELECT 2': 2 }, 6)).toEqual(['note: statements 4 -> 6   SELECT 2']);
    expect(after({ 'SELECT 1': 8 }, 8)).toEqual(['statements 4 -> 8   SELECT 1 x 8 (was 4)']);
  });
});
