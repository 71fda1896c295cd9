import { migrate } from 'drizzle-orm/node-postgres/migrator';
import type { Db } from './db.ts';

/** Runs the files of `migrations/` that are new. */
export const runMigrations = (db: Db): Promise<void> =>
  migrate(db, { migrationsFolder: `${import.meta.dirname}/../migrations` });
