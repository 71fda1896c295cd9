/**
 * The cost of a query and of a transaction on each driver of SQLite, with our pool over it and without: `node bench/sqlite.mjs
 * [--rounds 15] [--uses 400]`, on Node 22 or newer for better-sqlite3. All run in turns on files in memory, so that no disk is measured.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fromBetterSqlite3 } from '@ambit/drivers/better-sqlite3';
import { sqlitePoolOver } from '@ambit/transaction/extension';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import Libsql from 'libsql';
import { DatabaseSync } from '../lab/kit/sqlite.mjs';
import { table } from './shared/results.mjs';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, uses: { type: 'string', default: '400' } },
});
const SETTINGS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON';
const ONE = 'SELECT id, name, email, age FROM users WHERE id = $1';
const MANY = 'SELECT id, name, email, age FROM users ORDER BY id LIMIT 100';
const INSERT = 'INSERT INTO orders (user_id, product) VALUES ($1, $2)';

const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'ambit-bench-'));
/** @type {Record<string, (path: string) => object>} */
const contestants = {
  'node:sqlite': (path) => directly(new DatabaseSync(path)),
  'node:sqlite, createSqlitePool()': (path) => through(createSqlitePool({ path })),
  libsql: (path) => directly(new Libsql(path)),
  'libsql, pool': (path) => through(sqlitePoolOver(libsqlEngine(path), {})),
};
const [major] = process.versions.node.split('.');
if (Number(major) >= 22) {
  const { default: Database } = await import('better-sqlite3');
  contestants['better-sqlite3'] = (path) => directly(new Database(path));
  contestants['better-sqlite3, fromBetterSqlite3()'] = (path) => {
    const database = new Database(path, { timeout: 0 });
    database.exec(SETTINGS);
    return through(fromBetterSqlite3(database));
  };
}

const uses = Number(options.uses);
const opened = Object.entries(contestants).map(([name, open], n) => {
  const path = join(folder, `${n}.db`);
  fill(path);
  return { name, works: open(path), times: {} };
});
for (let round = 0; round <= Number(options.rounds); round += 1) {
  for (const { works, times } of opened) {
    for (const work of ['one row', '100 rows', 'INSERT', 'transaction']) {
      const start = process.cpuUsage();
      for (let n = 0; n < uses; n += 1) await works[work]((n % 100) + 1);
      // The first round only compiles.
      if (round > 0) (times[work] ??= []).push(cpuSince(start) / uses);
    }
  }
}
for (const { works } of opened) await works.close();
rmSync(folder, { recursive: true });

/** Also the threads that collect garbage and compile; other programs of a busy machine are not in it. */
function cpuSince(start) {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const rows = opened.map(({ name, works, times }) => [
  name,
  works.version,
  ...Object.values(times).map((values) => median(values).toFixed(1)),
]);
console.log(`Node ${process.version}, µs of CPU time, median of ${options.rounds} turns of ${uses} uses\n`);
console.log(table(['', 'SQLite', 'one row', '100 rows', 'INSERT', 'transaction of both'], rows));

function fill(path) {
  const database = new DatabaseSync(path);
  database.exec(SETTINGS);
  database.exec('CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, age INTEGER)');
  database.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users, product TEXT)');
  const insert = database.prepare('INSERT INTO users (name, email, age) VALUES (?, ?, ?)');
  for (let n = 0; n < 1000; n += 1) insert.run(`User ${n}`, `user-${n}@example.org`, n % 90);
  database.close();
}

/** As one uses the driver who has no other. */
function directly(database) {
  database.exec(SETTINGS);
  const [one, many, insert] = [ONE, MANY, INSERT].map((sql) => database.prepare(sql.replaceAll(/\$\d/g, '?')));
  return {
    version: database.prepare('SELECT sqlite_version() AS version').get().version,
    'one row': (id) => one.get(id),
    '100 rows': () => many.all(),
    INSERT: (id) => insert.run(id, 'book'),
    transaction: (id) => {
      database.exec('BEGIN IMMEDIATE');
      one.get(id);
      insert.run(id, 'book');
      database.exec('COMMIT');
    },
    close: () => database.close(),
  };
}

function through(pool) {
  const works = {
    version: '',
    'one row': (id) => pool.query(ONE, [id]),
    '100 rows': () => pool.query(MANY),
    INSERT: (id) => pool.query(INSERT, [id, 'book']),
    transaction: async (id) => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query(ONE, [id]);
      await connection.query(INSERT, [id, 'book']);
      await connection.commit();
      connection.release();
    },
    close: () => pool.close(),
  };
  pool.query('SELECT sqlite_version() AS version').then(([row]) => (works.version = row.version));
  return works;
}

function libsqlEngine(path) {
  const database = new Libsql(path);
  database.exec(SETTINGS);
  return {
    get isOpen() {
      return database.open;
    },
    get inTransaction() {
      return database.inTransaction;
    },
    exec: (sql) => database.exec(sql),
    prepare: (sql) => {
      const statement = database.prepare(sql).safeIntegers();
      if (statement.reader) statement.raw();
      return {
        isReader: statement.reader,
        columns: () => statement.columns().map(({ name }) => name),
        all: (values) => statement.all(values),
        run: (values) => statement.run(values),
      };
    },
    close: () => database.close(),
  };
}
