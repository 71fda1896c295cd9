import { NOW_MS } from '@ambit/transaction/extension';
import { type ReturningTable, tableWithReturning } from './returning.js';

export const postgres = (table: string): ReturningTable =>
  tableWithReturning(table, {
    position: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
    // Space on each page, so that a claim changes its row in place and no index; and a vacuum long before a fifth is garbage.
    storage: ' WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)',
    // The lock is held until COMMIT and taken before the position, so of two events with one key the lower position commits first.
    turn: `SELECT pg_advisory_xact_lock(hashtextextended($3, CAST(CAST('${table}' AS regclass) AS bigint)))`,
    now: NOW_MS.postgres,
    elements: (parameter) => `json_array_elements_text(CAST(${parameter} AS json))`,
    objects: (parameter) => `json_array_elements(CAST(${parameter} AS json))`,
    greatest: 'greatest',
    least: 'least',
    skipLocked: 'FOR UPDATE SKIP LOCKED',
    anyOf: (query) => `= ANY (ARRAY(${query}))`,
  });
