import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IConnection, type IDatabasePool, type Row, runInTransaction } from '../src/index.js';
import { backupSqlite, createSqlitePool } from '../src/sqlite/index.js';
import { openSqlite } from './support/databases.js';
import { requestScope } from './support/requests.js';

describe('a backup of a SQLite database', () => {
  let database: Awaited<ReturnType<typeof openSqlite>>;
  let pool: IDatabasePool;
  let folder: string;
  let to: string;

  beforeEach(async () => {
    database = await openSqlite();
    pool = database.pool();
    folder = join(dirname(database.path), 'backups');
    mkdirSync(folder);
    to = join(folder, "it's.db");
    await pool.query('CREATE TABLE orders (id INTEGER PRIMARY KEY, filler TEXT)');
    await pool.query('CREATE TABLE items (order_id INTEGER REFERENCES orders)');
  });
  afterEach(() => database.drop());

  const rowsOf = async (path: string, sql: string): Promise<Row[]> => {
    const copy = createSqlitePool({ path });
    try {
      return await copy.query(sql);
    } finally {
      await copy.close();
    }
  };

  test('is one whole file, made while others write', async () => {
    const place = (id: number): Promise<void> =>
      runInTransaction(requestScope(pool), async (scope) => {
        const connection = scope.resolve<IConnection>('IConnection');
        await connection.query('INSERT INTO orders VALUES ($1, hex(zeroblob(50000)))', [id]);
        await connection.query('INSERT INTO items VALUES ($1)', [id]);
      });
    for (let id = 0; id < 200; id += 1) await place(id);
    const progress = { done: false };
    const backup = backupSqlite({ filename: database.path, to }).finally(() => (progress.done = true));
    let id = 200;
    for (; !progress.done; id += 1) {
      await place(id);
      await new Promise(setImmediate);
    }
    await backup;
    expect(id, 'orders were placed meanwhile').toBeGreaterThan(210);
    expect(readdirSync(folder)).toEqual(["it's.db"]);
    expect(await rowsOf(to, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    const [counts] = await rowsOf(to, 'SELECT (SELECT count(*) FROM orders) AS o, (SELECT count(*) FROM items) AS i');
    expect(counts?.['o']).toBeGreaterThanOrEqual(200);
    expect(counts?.['o']).toBeLessThan(id);
    expect(counts?.['i']).toBe(counts?.['o']);
  });

  test('is no more readable than the database', async () => {
    chmodSync(database.path, 0o600);
    await backupSqlite({ filename: database.path, to });
    expect(statSync(to).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['a file', () => writeFileSync(to, 'kept')],
    ['a link to nothing', () => symlinkSync('nothing', to)],
    ['a file that appears meanwhile', () => void setImmediate(() => writeFileSync(to, 'kept'))],
  ])('does not overwrite %s', async (_what, put) => {
    put();
    await expect(backupSqlite({ filename: database.path, to })).rejects.toMatchObject({
      code: 'AMBIT_TX_FILE',
      cause: expect.objectContaining({ code: 'EEXIST', message: `${to} exists already` }),
    });
    expect(readdirSync(folder)).toEqual(["it's.db"]);
    expect(statSync(to, { throwIfNoEntry: false })?.size ?? 4).toBe(4);
  });

  test('is not made of a database that does not exist, nor is that created', async () => {
    const filename = join(dirname(database.path), 'none.db');
    await expect(backupSqlite({ filename, to })).rejects.toMatchObject({ cause: { code: 'ENOENT', path: filename } });
    expect(readdirSync(dirname(database.path))).not.toContain('none.db');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is not made of a folder, or into one that does not exist', async () => {
    const code = 'AMBIT_TX_FILE';
    await expect(backupSqlite({ filename: folder, to })).rejects.toMatchObject({ code });
    rmSync(folder, { recursive: true });
    await expect(backupSqlite({ filename: database.path, to })).rejects.toMatchObject({
      code,
      cause: { code: 'ENOENT' },
    });
  });

  test.each(['SQLite format 3\0 and then nothing of the kind', 'no database at all'.repeat(100)])(
    'is not made of the damaged file %j',
    async (content) => {
      const filename = join(dirname(database.path), 'damaged.db');
      writeFileSync(filename, content);
      await expect(backupSqlite({ filename, to })).rejects.toMatchObject({
        code: 'AMBIT_TX_FILE',
        sqlState: 'XX001',
      });
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test('is not made of a database that is damaged where only a check finds it', async () => {
    const filename = join(dirname(database.path), 'damaged.db');
    await pool.query("INSERT INTO orders VALUES (1, 'apple'), (2, 'pear')");
    await pool.query('CREATE UNIQUE INDEX fillers ON orders (filler)');
    await backupSqlite({ filename: database.path, to: filename });
    const bytes = readFileSync(filename);
    // In the table: the index keeps the old word.
    bytes.write('prune', bytes.indexOf('apple'));
    writeFileSync(filename, bytes);
    await expect(backupSqlite({ filename, to })).rejects.toMatchObject({
      code: 'AMBIT_TX_FILE',
      cause: { message: expect.stringContaining('row 1 missing from index fillers') },
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    { filename: ':memory:', to: 'a.db' },
    { filename: '', to: 'a.db' },
    { filename: 'a.db', to: ':memory:' },
    { filename: 'a.db', to: 'b\0.db' },
  ])('refuses the options %j', async (options) => {
    await expect(backupSqlite(options)).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });
});
