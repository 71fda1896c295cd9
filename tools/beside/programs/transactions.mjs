// What each program of this folder proves: a transaction that commits stores its row, and one that rolls back does not.
import assert from 'node:assert/strict';
import { Container, Registration, singleton } from '@ambit/container';
import { runInTransaction } from '@ambit/transaction';

export const databaseUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
/** A table of its own for each program: several run at the same time. */
export const TABLE = `beside_${process.pid}`;
export const mariadbUrl = process.env['MARIADB_URL'] ?? 'mariadb://root@127.0.0.1:3306';

/** Its driver is loaded only where it is installed. */
export async function postgres() {
  const { createPostgresPool } = await import('@ambit/transaction/postgres');
  return createPostgresPool({ connectionString: databaseUrl });
}

/**
 * `store` adds a row to `TABLE`, which has the column `id`; `nested`, where the library has nested transactions, runs one that fails and is undone alone.
 * @param {import('@ambit/transaction').IDatabasePool} pool it is closed in the end
 * @param {(connection: import('@ambit/transaction').IConnection, id: string) => PromiseLike<unknown>} store
 * @param {(connection: import('@ambit/transaction').IConnection, id: string) => PromiseLike<unknown>} [nested]
 */
export async function prove(pool, store, nested) {
  const app = new Container();
  app.addRegistration(
    Registration.fromFactory(() => pool)
      .pipe(singleton())
      .to('IDatabasePool'),
  );
  /** @param {(connection: import('@ambit/transaction').IConnection) => PromiseLike<unknown>} work */
  const transaction = (work) => runInTransaction(app, async (scope) => work(scope.resolve('IConnection')));
  await pool.query(`DROP TABLE IF EXISTS ${TABLE}`);
  await pool.query(`CREATE TABLE ${TABLE} (id VARCHAR(20) PRIMARY KEY)`);
  try {
    await transaction((connection) => store(connection, 'committed'));
    const undone = transaction(async (connection) => {
      await store(connection, 'rolled back');
      throw new Error('roll back');
    });
    await assert.rejects(undone, { message: 'roll back' });
    if (nested)
      await transaction(async (connection) => {
        await store(connection, 'outer');
        await assert.rejects(async () => nested(connection, 'inner'), /undo/);
      });
    const rows = await pool.query(`SELECT id FROM ${TABLE} ORDER BY id`);
    assert.deepEqual(
      rows.map(({ id }) => id),
      nested ? ['committed', 'outer'] : ['committed'],
    );
  } finally {
    await pool.query(`DROP TABLE ${TABLE}`);
    await app.dispose();
  }
}
