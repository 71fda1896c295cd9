import type { ISqlDialect, JsonColumns, MigrationRules } from '../engine.js';

/** What PostgreSQL and SQLite understand alike. */
export const sharedSql: Pick<ISqlDialect, 'updateFrom' | 'orReplace'> = {
  updateFrom: ({ table, set, from, where }) => `UPDATE ${table} SET ${set} FROM ${from} WHERE ${where}`,
  orReplace: (key, column) => `ON CONFLICT (${key}) DO UPDATE SET ${column} = excluded.${column}`,
};

/** Selects the members of the JSON objects that a FROM item has in its column `value`. */
export function rowsOf(elements: string, columns: JsonColumns): string {
  const members = Object.entries(columns).map(([name, type]) => {
    const text = `value ->> '${name}'`;
    return `${type === 'text' ? text : `CAST(${text} AS ${type})`} AS ${name}`;
  });
  return `(SELECT ${members.join(', ')} FROM ${elements} AS elements)`;
}

export const sharedMigrations: MigrationRules = {
  areTransactional: true,
  begin: [
    'CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, checksum text NOT NULL)',
    'CREATE TABLE IF NOT EXISTS migration_lock (id integer PRIMARY KEY)',
    'INSERT INTO migration_lock (id) VALUES (1) ON CONFLICT (id) DO NOTHING',
  ],
};
