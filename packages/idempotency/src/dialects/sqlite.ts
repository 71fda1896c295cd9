import { NOW_MS } from '@ambit/transaction/extension';
import type { Dialect } from './key-table.js';
import { tableWithOnConflict, takeOver } from './on-conflict.js';

export const sqlite: Dialect = (table) =>
  tableWithOnConflict(
    table,
    NOW_MS.sqlite,
    // A transaction that writes has the whole file for itself, so nothing waits here.
    `INSERT INTO ${table} (key, fingerprint, created_at) VALUES ($1, $2, ${NOW_MS.sqlite})
      ${takeOver(table)} RETURNING 1 AS inserted`,
  );
