import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, onTestFinished } from 'vitest';
import type { PoolSuite } from './suite.js';

/** Parameters, rows and refusals of single statements. */
export function statementContract(suite: PoolSuite): void {
  const { it, each, begin, commit } = suite;

  it('binds parameters by number, not by place, and leaves quoted text alone', async () => {
    const sql = `SELECT $2 || '' AS second, $1 || '' AS first, '$1' AS quoted, "body" FROM notes -- $3 $4`;
    await suite.pool.query('INSERT INTO notes (id, body) VALUES ($2, $1)', ['text', 7]);
    expect(await suite.pool.query(sql, ['one', 'two'])).toEqual([
      { second: 'two', first: 'one', quoted: '$1', body: 'text' },
    ]);
  });

  it('gives rows of the named columns and nothing else', async () => {
    await suite.pool.query('INSERT INTO notes (id, body, weight) VALUES (1, $1, 1.5)', ['a']);
    const rows = await suite.pool.query('SELECT * FROM notes WHERE id = $1', [1]);
    expect(rows).toEqual([{ id: 1, body: 'a', weight: 1.5 }]);
    expect(Object.keys(rows[0] ?? {})).toEqual(['id', 'body', 'weight']);
  });

  each('gives one row as it gives many: %j', ['LIMIT 1', 'limit\n 1 ', 'LIMIT 1 -- of two'], async (limit) => {
    const sql = `SELECT * FROM notes WHERE id > $1 ORDER BY id ${limit}`;
    expect(await suite.pool.query(sql, [0])).toEqual([]);
    await suite.pool.query("INSERT INTO notes (id, body, weight) VALUES (1, 'a', 1.5), (2, 'b', 2.5)");
    expect(await suite.pool.query(sql, [0])).toEqual([{ id: 1, body: 'a', weight: 1.5 }]);
  });

  it('returns the rows of RETURNING, and none for a statement without rows', async () => {
    expect(await suite.pool.query('INSERT INTO notes (id, body) VALUES (1, $1) RETURNING id, body', ['a'])).toEqual([
      { id: 1, body: 'a' },
    ]);
    expect(await suite.pool.query('DELETE FROM notes')).toEqual([]);
  });

  each('returns all of %i rows', [0, 99, 100, 101, 250], async (count) => {
    const ids = Array.from({ length: count }, (_, index) => index + 1);
    if (count > 0) await suite.pool.query(`INSERT INTO notes (id) VALUES ${ids.map((id) => `(${id})`).join()}`);
    const rows = await suite.pool.query<{ id: number }>('DELETE FROM notes RETURNING id');
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(ids));
  });

  it('says in SQLSTATE what went wrong, whichever database it is', async () => {
    await suite.pool.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['a']);
    const again = suite.pool.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['a']);
    await expect(again).rejects.toMatchObject({
      code: 'AMBIT_TX_STATEMENT_FAILED',
      message: expect.stringMatching(/^The database refused a statement \(23505\)\./),
      sqlState: '23505',
      retryable: false,
    });
    const twice = suite.pool.query('INSERT INTO notes (id) VALUES (1)');
    await expect(twice).rejects.toMatchObject({ sqlState: '23505', cause: expect.any(Error) });
  });

  it('refuses several statements in one query', async () => {
    await expect(suite.pool.query('SELECT 1; SELECT 2')).rejects.toMatchObject({ sqlState: '42601' });
    await expect(suite.pool.query('DELETE FROM notes; SELECT 1')).rejects.toMatchObject({ sqlState: '42601' });
  });

  it('refuses too few and too many parameters', async () => {
    for (const values of [['a'], ['a', 'b', 'c']]) {
      const refused = suite.pool.query('SELECT $1 || $2 AS x', values);
      await expect(refused).rejects.toMatchObject({ sqlState: '08P01', unavailable: false });
    }
  });

  it('refuses ? in place of $1, and keeps its connection', async () => {
    for (const values of [['a'], []]) {
      await expect(suite.pool.query('SELECT ? AS x', values)).rejects.toMatchObject({ sqlState: '42601' });
      expect(await suite.pool.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    }
  });

  it('refuses text with a NUL', async () => {
    const insert = suite.pool.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['cut\0here']);
    await expect(insert).rejects.toMatchObject({ sqlState: '22021' });
  });

  it('gives integers beyond the safe range as exact text, and all others as numbers', async () => {
    await suite.pool.query('CREATE TABLE big (id BIGINT, small INTEGER, body TEXT)');
    const values = [9007199254740993n, -9223372036854775808n];
    for (const value of values) {
      const [row] = await suite.pool.query('INSERT INTO big VALUES ($1, 7, $2) RETURNING id, small', [value, 'a']);
      expect(row).toEqual({ id: String(value), small: 7 });
      expect(await suite.pool.query('SELECT id, small FROM big WHERE id = $1 LIMIT 1', [String(value)])).toEqual([row]);
    }
    expect(await suite.pool.query('SELECT id FROM big ORDER BY id DESC')).toEqual(
      values.map((id) => ({ id: String(id) })),
    );
  });

  each('refuses %j as a statement', [undefined, null, 7, { text: 'SELECT 1' }], async (sql) => {
    const refusal = { code: 'AMBIT_TX_PARAMETER' };
    await expect(suite.pool.query(sql as unknown as string)).rejects.toMatchObject(refusal);
    const connection = await suite.pool.getConnection();
    await expect(connection.query(sql as unknown as string)).rejects.toMatchObject(refusal);
    connection.release();
    expect(await suite.pool.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  each(
    'refuses %j in query()',
    ['BEGIN', 'commit', ' /* now */ ROLLBACK', '-- now\nEND', 'START TRANSACTION'],
    async (sql) => {
      await expect(suite.pool.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
      const connection = await suite.pool.getConnection();
      await expect(connection.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
      connection.release();
    },
  );

  each('refuses %j outside of a transaction', ['SAVEPOINT a', '/* */ release a'], async (sql) => {
    await expect(suite.pool.query(sql)).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '25P01' });
    const connection = await begin();
    await commit(connection);
  });

  it('publishes statements outside of a transaction, without their parameters, and none within one', async () => {
    const published: Record<string, unknown>[] = [];
    const receive = (message: unknown): void => void published.push(message as Record<string, unknown>);
    subscribe('ambit:statement:outside', receive);
    onTestFinished(() => void unsubscribe('ambit:statement:outside', receive));
    await suite.pool.query('SELECT id FROM notes');
    const connection = await suite.pool.getConnection();
    await connection.query('SELECT body FROM notes');
    await connection.query('SELECT missing FROM notes').catch(() => undefined);
    await connection.beginTransaction();
    await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'a secret']);
    await commit(connection);
    const milliseconds = expect.any(Number) as number;
    expect(published).toEqual([
      { sql: 'SELECT id FROM notes', milliseconds, rows: 0 },
      { sql: 'SELECT body FROM notes', milliseconds, rows: 0 },
      { sql: 'SELECT missing FROM notes', milliseconds, error: expect.any(Error) as Error },
    ]);
  });
}
