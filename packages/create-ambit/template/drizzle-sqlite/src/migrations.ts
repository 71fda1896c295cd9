import type { SqliteRemoteDatabase } from 'drizzle-orm/sqlite-proxy';
import { migrate } from 'drizzle-orm/sqlite-proxy/migrator';
import type { Db } from './db.ts';

/** Runs the files of `migrations/` that are new. Of its database this migrator calls what every one of Drizzle has. */
export async function runMigrations(db: Db): Promise<void> {
  const run = async (statements: readonly string[]) => {
    for (const statement of statements) await db.run(statement);
  };
  await migrate(db as unknown as SqliteRemoteDatabase, run, {
    migrationsFolder: `${import.meta.dirname}/../migrations`,
  });
}
