import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { beginTransaction, isUnavailable } from '../src/host.js';
import {
  type IConnection,
  type IDatabasePool,
  type Row,
  runInTransaction,
  type TransactionError,
} from '../src/index.js';
import { backupSqlite, createSqlitePool } from '../src/sqlite/index.js';
import { openSqlite } from './support/databases.js';
import { requestScope } from './support/requests.js';

const support = (name: string): string => fileURLToPath(new URL(`support/${name}`, import.meta.url));

describe('the file of a SQLite pool', () => {
  let database: Awaited<ReturnType<typeof openSqlite>>;
  let folder: string;
  let path: string;

  beforeEach(async () => {
    database = await openSqlite();
    ({ path } = database);
    folder = dirname(path);
  });
  afterEach(() => database.drop());

  const fill = async (): Promise<IDatabasePool> => {
    const pool = createSqlitePool({ path, closeTimeoutMs: 50 });
    await pool.query('CREATE TABLE stock (product TEXT PRIMARY KEY, level INTEGER NOT NULL)');
    for (let n = 0; n < 50; n += 1) await pool.query('INSERT INTO stock VALUES ($1, $2)', [`product ${n}`, n]);
    return pool;
  };
  /** What a copy of this one file holds, as somebody would copy it. */
  const levelsInCopy = async (): Promise<number> => {
    const copy = join(folder, 'copy.db');
    copyFileSync(path, copy);
    const pool = createSqlitePool({ path: copy });
    const rows = await pool.query('SELECT level FROM stock');
    await pool.close();
    return rows.length;
  };

  describe('after close()', () => {
    test('holds every row by itself', async () => {
      const pool = await fill();
      const reader = await pool.getConnection({ readOnly: true });
      await reader.query('SELECT level FROM stock');
      reader.release();
      await pool.close();
      expect(await levelsInCopy()).toBe(50);
      expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    });

    test('holds every row although connections were still checked out', async () => {
      const pool = await fill();
      const reader = await pool.getConnection({ readOnly: true });
      await reader.beginTransaction({ readOnly: true });
      await reader.query('SELECT level FROM stock');
      await pool.query("INSERT INTO stock VALUES ('fig', 1)");
      const transaction = await beginTransaction(requestScope(pool));
      await transaction.connection.query("INSERT INTO stock VALUES ('never', 1)");
      await pool.close();
      expect(await levelsInCopy()).toBe(51);
      await transaction.rollback();
    });

    test('is left as it is while another process reads it, and loses nothing', async () => {
      const pool = await fill();
      const other: ChildProcess = fork(support('other-process.mjs'), [path]);
      await once(other, 'message');
      for (const sql of ['BEGIN', 'SELECT level FROM stock']) {
        other.send(sql);
        await once(other, 'message');
      }
      await pool.query("INSERT INTO stock VALUES ('fig', 1)");
      await pool.close();
      other.kill();
      await once(other, 'exit');
      expect(await database.pool().query('SELECT level FROM stock')).toHaveLength(51);
    });
  });

  describe('that cannot be used', () => {
    const refusal = (at: string): TransactionError => {
      try {
        createSqlitePool({ path: at });
      } catch (error) {
        return error as TransactionError;
      }
      throw new Error('the pool was created');
    };
    const cases: [what: string, make: () => string, says: string, cause: string][] = [
      ['is in no folder', () => join(folder, 'none', 'a.db'), 'its folder does not exist, or takes no files', 'ENOENT'],
      ['is where none can be', () => '/proc/nope.db', 'its folder does not exist, or takes no files', 'ENOENT'],
      ['is a folder', () => folder, 'it is a directory', 'EISDIR'],
      [
        'is in a file',
        () => {
          writeFileSync(join(folder, 'file'), '');
          return join(folder, 'file', 'a.db');
        },
        'its folder is not a directory',
        'ENOTDIR',
      ],
      [
        'is missing beside its -wal',
        () => {
          writeFileSync(`${path}-wal`, 'transactions');
          return path;
        },
        'it cannot be opened',
        'is missing, and its -wal still has transactions of it',
      ],
      [
        'is no database',
        () => {
          writeFileSync(path, 'no database at all'.repeat(100));
          return path;
        },
        'it is not a SQLite database',
        'file is not a database',
      ],
    ];

    test.each(['libsql://shop.example.org', 'https://shop.example.org', 'ws://127.0.0.1:8080'])(
      'that is an address, %s, is refused as one',
      (address) => {
        const error = refusal(address);
        expect(error).toMatchObject({ code: 'AMBIT_OPTION' });
        expect(error.message).toContain('`path` is the address of a server');
      },
    );

    test.each(cases)('that %s fails at once, for good, and says why', (_what, make, says, cause) => {
      const at = make();
      const error = refusal(at);
      expect(error).toMatchObject({ code: 'AMBIT_TX_FILE', status: 500, retryable: false });
      expect(isUnavailable(error)).toBe(false);
      expect(error.message).toContain(`SQLite cannot use the file: ${says}. Check`);
      expect(error.message).not.toMatch(/credentials|address/);
      expect(error.message).not.toContain(basename(at));
      expect((error.cause as Error).message).toContain(cause);
      expect((error.cause as Error).message).toContain(at);
      expect(inspect(error).match(/\n {2,}at /g)?.length).toBeLessThan(25);
    });

    test('that is damaged fails at once', async () => {
      await (await fill()).close();
      const bytes = readFileSync(path);
      bytes.fill(0xff, 100, 1000);
      writeFileSync(path, bytes);
      const error = refusal(path);
      expect(error).toMatchObject({ code: 'AMBIT_TX_FILE', sqlState: 'XX001' });
      expect(error.message).toContain('it is damaged');
    });

    test('that was cut short fails at once', async () => {
      await (await fill()).close();
      const copy = join(folder, 'short.db');
      copyFileSync(path, copy);
      truncateSync(copy, 5000);
      expect(refusal(copy).message).toContain('it is damaged');
    });

    test.each([
      ['the file', 0o444, 0o777],
      ['the folder', 0o666, 0o555],
    ])('because %s must not be written fails at once', async (_what, file, around) => {
      const place = join(folder, 'guarded');
      mkdirSync(place);
      const at = join(place, 'a.db');
      await createSqlitePool({ path: at }).close();
      chmodSync(folder, 0o755);
      chmodSync(at, file);
      chmodSync(place, around);
      // Root may write everything, so another user tries.
      const child = fork(support('open-as-nobody.mjs'), [at]);
      const [said] = (await once(child, 'message')) as [{ code: string; message: string; cause: string }];
      chmodSync(place, 0o755);
      expect(said).toMatchObject({ code: 'AMBIT_TX_FILE' });
      expect(said.message).toContain('this process may not write it, or the folder it is in');
      expect(said.cause).toContain('EACCES');
    });
  });
});

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

  test('is made by a program of `node --input-type=module --eval`, whose threads are modules, too', async () => {
    const program = `import { backupSqlite } from '${new URL('../dist/sqlite/index.js', import.meta.url).href}';
      await backupSqlite(${JSON.stringify({ filename: database.path, to })});`;
    execFileSync(process.execPath, ['--input-type=module', '--eval', program]);
    expect(readdirSync(folder)).toEqual(["it's.db"]);
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
