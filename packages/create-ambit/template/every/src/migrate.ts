import { Container } from '@ambit/container';
import { type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { readConfig } from './config.ts';
import { createPool, LOCK } from './database.ts';
import { createDb } from './db.ts';
import { runMigrations } from './migrations.ts';

/** Runs the migrations that the database has not seen yet: all of them, or none. */
export async function migrate(pool: IDatabasePool): Promise<void> {
  const container = new Container();
  container.register('IDatabasePool', () => pool);
  await runInTransaction(container, async (scope) => {
    const connection = scope.resolve('IConnection');
    await connection.query(LOCK);
    await runMigrations(createDb(connection));
  });
}

if (process.argv[1] === import.meta.filename) {
  const pool = createPool(readConfig(process.env));
  await migrate(pool).finally(() => pool.close());
}
