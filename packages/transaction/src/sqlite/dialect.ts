import type { Database } from '../databases/database.js';
import { tableWithReturning } from '../databases/events.js';
import { tableWithOnConflict, takeOver } from '../databases/keys.js';

/** Milliseconds since 1970. A file has the clock of the machine that it is on. */
const NOW = "CAST(unixepoch('subsec') * 1000 AS integer)";

export const sqlite = {
  now: NOW,
  events: (table) =>
    tableWithReturning(table, {
      position: 'INTEGER PRIMARY KEY AUTOINCREMENT',
      storage: '',
      now: NOW,
      elements: (parameter) => `json_each(${parameter})`,
      objects: (parameter) => `json_each(${parameter})`,
      greatest: 'max',
      least: 'min',
      skipLocked: '',
      anyOf: (query) => `IN (${query})`,
    }),
  keys: (table) =>
    tableWithOnConflict(
      table,
      NOW,
      // A transaction that writes has the whole file for itself, so nothing waits here.
      `INSERT INTO ${table} (key, fingerprint, created_at) VALUES ($1, $2, ${NOW})
      ${takeOver(table)} RETURNING 1 AS inserted`,
    ),
  sandbox: () => ({
    beginReadOnly: 'PRAGMA query_only = ON',
    endReadOnly: 'PRAGMA query_only = OFF',
    hasDeferrable: false,
    mayLoseTransaction: true,
  }),
} satisfies Database;
