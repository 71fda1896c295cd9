import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { DatabaseSync } from '../sqlite.mjs';

/** @typedef {import('../database.mjs').Database} Database */

const BUSY_MS = 10_000;

/** @returns {Promise<Database>} */
export async function createSqliteDatabase() {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-sqlite-'));
  const path = join(folder, 'ambit.db');
  return {
    kind: 'sqlite',
    isEmbedded: true,
    env: { DATA_DIR: folder },
    query: sqliteQuery(path),
    createPool: () => createSqlitePool({ path }),
    sessions: async () => [],
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/**
 * @param {string} file
 * @returns {Database['query']} on its own connection
 */
export function sqliteQuery(file) {
  return async (sql, params = []) => {
    const database = new DatabaseSync(file, { timeout: BUSY_MS });
    try {
      const statement = database.prepare(sql.replaceAll(/\$(\d+)/g, '?$1'));
      return /** @type {import('../database.mjs').Row[]} */ (statement.all(.../** @type {string[]} */ (params)));
    } finally {
      database.close();
    }
  };
}
