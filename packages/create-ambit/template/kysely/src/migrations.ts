import { Migrator } from 'kysely';
import type { Db } from './db.ts';
import { orders } from './migrations/0001-orders.ts';

/** In the order of their names. */
const migrations = { '0001-orders': orders };

export async function runMigrations(db: Db): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error as Error;
}
