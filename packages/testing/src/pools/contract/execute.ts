import { describe, expect } from 'vitest';
import type { IConnection } from '@ambit/transaction';
import type { PoolSuite } from './suite.js';

/** `execute()` gives rows, counts and columns. */
export function executeContract(suite: PoolSuite): void {
  const { it, each, bodies } = suite;

  describe('with execute()', () => {
    type Executing = Pick<IConnection, 'execute'>;
    const onBoth: readonly [where: string, run: (work: (on: Executing) => Promise<void>) => Promise<void>][] = [
      ['the pool', (work) => work(suite.pool)],
      [
        'a connection',
        async (work) => {
          const connection = await suite.pool.getConnection();
          try {
            await connection.beginTransaction();
            await work(connection);
            await connection.commit();
          } finally {
            connection.release(true);
          }
        },
      ],
    ];

    const COUNTS: readonly [
      guarantee: string,
      ...statements: [sql: string, rowCount: number | null, rows: number][],
    ][] = [
      [
        'counts the rows that INSERT, UPDATE and DELETE changed, and that SELECT gave',
        ["INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b'), (3, 'c')", 3, 0],
        ['UPDATE notes SET weight = 1 WHERE id < 3', 2, 0],
        ['UPDATE notes SET weight = 1 WHERE id < 3', 2, 0],
        ['UPDATE notes SET weight = 1 WHERE id < 0', 0, 0],
        ['SELECT id FROM notes', 3, 3],
        ['/* now */ DELETE FROM notes WHERE id = 1', 1, 0],
        ['DELETE FROM notes', 2, 0],
        ['DELETE FROM notes', 0, 0],
      ],
      [
        'counts the rows of INSERT and DELETE with RETURNING',
        ["INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b') RETURNING id", 2, 2],
        ['DELETE FROM notes WHERE id = 2 RETURNING id, body', 1, 1],
        ['DELETE FROM notes WHERE id = 2 RETURNING id, body', 0, 0],
      ],
      [
        'counts the rows of UPDATE with RETURNING',
        ["INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b')", 2, 0],
        ['UPDATE notes SET weight = 1 WHERE id < 3 RETURNING id', 2, 2],
      ],
      [
        'counts no row that ON CONFLICT left out',
        ["INSERT INTO notes (id, body) VALUES (1, 'a') ON CONFLICT DO NOTHING", 1, 0],
        ["INSERT INTO notes (id, body) VALUES (1, 'a') ON CONFLICT DO NOTHING", 0, 0],
      ],
      [
        'counts the rows of a statement that begins with WITH',
        ["INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b')", 2, 0],
        ['WITH old AS (SELECT 1 AS id) DELETE FROM notes WHERE id IN (SELECT id FROM old)', 1, 0],
      ],
      ['counts nothing where the table itself was changed', ['CREATE TABLE more (id INTEGER)', null, 0]],
    ];
    for (const [guarantee, ...statements] of COUNTS) {
      it(guarantee, async () => {
        for (const [sql, rowCount, rows] of statements) {
          const result = await suite.pool.execute(sql);
          const command = /INSERT|UPDATE|DELETE|SELECT id|CREATE/.exec(sql)?.[0].replace(' id', '');
          expect([sql, result.command, result.rowCount, result.rows.length]).toEqual([sql, command, rowCount, rows]);
        }
      });
    }

    each('of %s keeps columns of equal name apart in arrays', onBoth, async ([, run]) => {
      await run(async (on) => {
        const sql = 'SELECT a.id, b.id, b.body FROM notes a JOIN notes b ON b.id > a.id WHERE a.id = $1';
        await on.execute("INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'b')");
        const { rows, fields } = await on.execute(sql, [1], { rowMode: 'array' });
        expect(rows).toEqual([[1, 2, 'b']]);
        expect(fields.map(({ name }) => name)).toEqual(['id', 'id', 'body']);
        expect((await on.execute(sql, [1])).rows).toEqual([{ id: 2, body: 'b' }]);
      });
    });

    each('of %s gives the values that query() gives', onBoth, async ([, run]) => {
      await run(async (on) => {
        await on.execute("INSERT INTO notes (id, body, weight) VALUES (1, 'a', 1.5)");
        const sql = 'SELECT 9007199254740993 + 0 AS big, id, weight, body, NULL AS missing FROM notes';
        const row = { big: '9007199254740993', id: 1, weight: 1.5, body: 'a', missing: null };
        expect((await on.execute(sql)).rows).toEqual([row]);
        expect((await on.execute(sql, [], { rowMode: 'array' })).rows).toEqual([Object.values(row)]);
      });
    });

    it('knows the columns of a table that was changed', async () => {
      const on = suite.pool;
      const columns = async (): Promise<string[]> =>
        (await on.execute('SELECT * FROM notes')).fields.map(({ name }) => name);
      expect(await columns()).toEqual(['id', 'body', 'weight']);
      await suite.pool.query('ALTER TABLE notes ADD COLUMN colour TEXT');
      expect(await columns()).toEqual(['id', 'body', 'weight', 'colour']);
    });

    each('of %s fails as query() does', onBoth, async ([, run]) => {
      const failing = (sql: unknown, params: unknown[] = []): Promise<void> =>
        run(async (on) => void (await on.execute(sql as string, params)));
      await expect(failing('COMMIT')).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
      await expect(failing(7)).rejects.toMatchObject({ code: 'AMBIT_TX_PARAMETER' });
      await expect(failing('SELECT 1; SELECT 2')).rejects.toMatchObject({ sqlState: '42601' });
      await expect(failing('SELECT $1 || $2', ['a'])).rejects.toMatchObject({ sqlState: '08P01' });
      await expect(failing("INSERT INTO notes (id, body) VALUES (1, 'a'), (2, 'a')")).rejects.toMatchObject({
        code: 'AMBIT_TX_STATEMENT_FAILED',
        sqlState: '23505',
      });
      expect(await bodies()).toEqual([]);
    });

    it('refuses a row mode that it does not know', async () => {
      const wrong = { rowMode: 'arrays' as 'array' };
      const refusal = { code: 'AMBIT_OPTION' };
      await expect(suite.pool.execute('SELECT 1', [], wrong)).rejects.toMatchObject(refusal);
      const connection = await suite.pool.getConnection();
      await expect(connection.execute('SELECT 1', [], wrong)).rejects.toMatchObject(refusal);
      connection.release();
      await expect(connection.execute('SELECT 1')).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
    });
  });
}
