import { Container, Registration, singleton } from '@ambit/container';
import { hasPostgres, openSchema, type PostgresSchema } from '@ambit/test-kit';
import { type IConnection, runInTransaction } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { type Kysely, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { kyselyOn } from '../src/kysely/index.js';

interface Tables {
  notes: { id: number; update: number };
}

describe.skipIf(!hasPostgres)('a streamed SELECT in a transaction on PostgreSQL', () => {
  let database: PostgresSchema;
  let app: Container;
  beforeEach(async () => {
    database = await openSchema();
    app = new Container().addRegistration(
      Registration.fromFactory(() => createPostgresPool({ connectionString: database.url() }))
        .pipe(singleton())
        .to('IDatabasePool'),
    );
    await database.admin.query('CREATE TABLE notes (id int, update int)');
  });
  afterEach(async () => {
    await app.dispose();
    await database.drop();
  });

  const inTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> =>
    runInTransaction(app, (scope) =>
      work(kyselyOn<Tables>(scope.resolve<IConnection>('IConnection'), { dialect: 'postgres' })),
    );
  const stored = async (): Promise<unknown[]> => (await database.admin.query('SELECT id FROM notes ORDER BY id')).rows;

  test('may write in its WITH', async () => {
    const seen = await inTransaction(async (db) => {
      const ids: number[] = [];
      const values = [1, 2, 3].map((id) => ({ id, update: id }));
      const streamed = db
        .with('added', (cte) => cte.insertInto('notes').values(values).returning('id'))
        .with('changed', (cte) =>
          cte
            .updateTable('notes')
            .set({ update: sql`/* ( */ 0` })
            .returning('id'),
        )
        .selectFrom('added')
        .select('id')
        .orderBy('id');
      for await (const { id } of streamed.stream(2)) ids.push(id);
      return ids;
    });
    expect(seen).toEqual([1, 2, 3]);
    expect(await stored()).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });

  test('has a cursor where a text or a column only looks like a write', async () => {
    await database.admin.query('INSERT INTO notes SELECT n, n FROM generate_series(1, 5) AS n');
    const cursors = await inTransaction(async (db) => {
      const streamed = db
        .with('all', (cte) => cte.selectFrom('notes').select(['id', 'update']))
        .selectFrom('all')
        .select(sql<number>`(SELECT count(*)::int FROM pg_cursors WHERE name LIKE 'ambit%')`.as('open'))
        .where(sql<string>`'(delete'`, '=', '(delete');
      const seen: number[] = [];
      for await (const { open } of streamed.stream(2)) seen.push(open);
      return seen;
    });
    expect(cursors).toEqual([1, 1, 1, 1, 1]);
  });
});
