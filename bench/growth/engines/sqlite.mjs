import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
// It has `generate_series()`, which fills tables.
import Libsql from 'libsql';

/** What a service that has run for a while has in memory, as the sum over a column that makes SQLite read each row. */
const WARM = { users: 'email', stock: 'level', idempotency_keys: 'body' };

/** Safe enough for rows that are made again after a crash. */
const FILLING = ['synchronous = OFF', 'cache_size = -500000', 'foreign_keys = OFF'];

/** @type {import('./engines.mjs').Kind} */
export const sqlite = {
  settings: 'SQLite with `synchronous = NORMAL`',
  columns: { pages: 'pages read from the file or its log', log: 'bytes written' },
  // The SQLite of Node counts no steps.
  steady: [],
  start,
};

/** @returns {Promise<import('./engines.mjs').Engine>} */
async function start(folder) {
  mkdirSync(folder, { recursive: true });
  const open = (name) => new Libsql(join(folder, name, 'ambit.db'));
  const inFile = (name, work) => {
    const database = open(name);
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  return {
    environmentOf: (name) => ({ DATA_DIR: join(folder, name) }),
    run: async (name, sql) => inFile(name, (database) => database.prepare(sql).all()),
    create: async (name) => {
      rmSync(join(folder, name), { recursive: true, force: true });
      mkdirSync(join(folder, name));
    },
    fill: async (name, inserts) => {
      inFile(name, (database) => {
        for (const pragma of FILLING) database.pragma(pragma);
        database.exec('BEGIN EXCLUSIVE');
        for (const table of Object.keys(inserts).toReversed()) database.exec(`DELETE FROM ${table}`);
        for (const insert of Object.values(inserts)) database.exec(insert);
        database.exec('COMMIT');
        database.pragma('wal_checkpoint(TRUNCATE)');
      });
    },
    warm: async (name) => {
      inFile(name, (database) => {
        for (const [table, column] of Object.entries(WARM))
          database.prepare(`SELECT sum(length(${column})) FROM ${table}`).all();
      });
    },
    used: async () => ({}),
    startCpu: () => undefined,
    stop: async () => {},
  };
}
