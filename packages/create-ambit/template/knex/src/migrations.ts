import type { Knex } from 'knex';
import { orders } from './migrations/0001-orders.ts';

/** In the order in which they run. */
const migrations = [{ name: '0001-orders', ...orders }];

const migrationSource: Knex.MigrationSource<(typeof migrations)[number]> = {
  getMigrations: async () => migrations,
  getMigrationName: ({ name }) => name,
  getMigration: async (migration) => migration,
};

export const runMigrations = (db: Knex): Promise<void> => db.migrate.latest({ migrationSource });
