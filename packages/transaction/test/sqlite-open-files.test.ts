import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Libsql from 'libsql';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type SqliteEngine, sqlitePoolOver } from '../src/extension/index.js';
import { type DatabasePool, type IConnection, runInTransaction } from '../src/index.js';
import { backupSqlite, createSqlitePool } from '../src/sqlite/index.js';
import { openSqlite } from './support/databases.js';
import { requestScope } from './support/requests.js';

const WINDOW_MS = 20;

/** As the pools over other drivers have it, over the driver that is here. */
function engineOver(path: string, journal: string): SqliteEngine {
  const libsql = new Libsql(path);
  libsql.exec(`PRAGMA journal_mode = ${journal}`);
  return {
    get isOpen() {
      return libsql.open;
    },
    get inTransaction() {
      return libsql.inTransaction;
    },
    exec: (sql) => libsql.exec(sql),
    prepare: (sql) => {
      const statement = libsql.prepare(sql).safeIntegers();
      if (statement.reader) statement.raw();
      return {
        isReader: statement.reader,
        columns: () => statement.columns().map(({ name }) => name),
        all: (values) => statement.all(values) as unknown[][],
        run: (values) => statement.run(values),
      };
    },
    close: () => libsql.close(),
  };
}

const POOLS: readonly (readonly [name: string, open: (path: string) => DatabasePool])[] = [
  ['createSqlitePool()', (path) => createSqlitePool({ path })],
  ['a pool over another driver', (path) => sqlitePoolOver(engineOver(path, 'WAL'), {})],
];

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The first page of the file, as the log has it: the one that a checkpoint writes first. */
function lastFirstPage(path: string): Buffer {
  const wal = readFileSync(path);
  const frames = Array.from({ length: (wal.length - 32) / 4120 }, (_, n) => wal.subarray(32 + n * 4120));
  const last = frames.findLast((frame) => frame.readUInt32BE(0) === 1);
  if (!last) throw new Error('The first page is not in the log');
  return last.subarray(24, 4120);
}

describe('the files of a SQLite pool in use', () => {
  let database: Awaited<ReturnType<typeof openSqlite>>;
  let path: string;
  let pool: DatabasePool | undefined;
  beforeEach(async () => {
    database = await openSqlite();
    ({ path } = database);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await pool?.close();
    await database.drop();
  });

  const fill = async (opened: DatabasePool): Promise<DatabasePool> => {
    pool = opened;
    await pool.query('CREATE TABLE stock (product TEXT PRIMARY KEY, level INTEGER NOT NULL)');
    for (let n = 0; n < 49; n += 1) await add(`product ${n}`);
    // The pool looks at its files again before the last one.
    await pause(WINDOW_MS);
    await add('product 49');
    return pool;
  };
  const add = (product: string): Promise<unknown> =>
    runInTransaction(requestScope(pool as DatabasePool), (scope) =>
      scope.resolve<IConnection>('IConnection').query('INSERT INTO stock VALUES ($1, 1)', [product]),
    );
  const levels = async (): Promise<number> => (await (pool as DatabasePool).query('SELECT level FROM stock')).length;
  const fault = (cause: RegExp, sqlState: string): object => ({
    code: 'AMBIT_TX_FILE',
    sqlState,
    status: 500,
    cause: { message: expect.stringMatching(cause) as string },
  });
  /** Neither a transaction nor a statement outside of one is reported as stored, some milliseconds after the fault. */
  const expectRefusals = async (cause: RegExp, sqlState: string): Promise<void> => {
    await pause(WINDOW_MS);
    await expect(add('a')).rejects.toMatchObject(fault(cause, sqlState));
    await expect(pool?.query("INSERT INTO stock VALUES ('b', 1)")).rejects.toMatchObject(fault(cause, sqlState));
    await expect(pool?.query('SELECT level FROM stock')).rejects.toMatchObject(fault(cause, sqlState));
  };

  describe.each(POOLS)('of %s', (_name, open) => {
    test('that was deleted refuses what it cannot keep', async () => {
      await fill(open(path));
      rmSync(path);
      await expectRefusals(/test\.db was deleted or moved while it was in use/, '58030');
      expect(existsSync(path)).toBe(false);
      const refusal = await add('c').catch((error: unknown) => error);
      const [, rescue = 'false'] = /`(cp [^`]*)`/.exec(String((refusal as Error).cause)) ?? [];
      execFileSync('sh', ['-c', rescue]);
      const rescued = createSqlitePool({ path });
      expect(await rescued.query('SELECT level FROM stock')).toHaveLength(50);
      await rescued.close();
    });

    test('that was replaced refuses what it cannot keep', async () => {
      await fill(open(path));
      await backupSqlite({ filename: path, to: `${path}.copy` });
      const copy = readFileSync(`${path}.copy`);
      renameSync(`${path}.copy`, path);
      await expectRefusals(/test\.db was replaced by another file while it was in use/, '58030');
      expect(readFileSync(path).equals(copy)).toBe(true);
    });

    test('that was deleted during a transaction do not let it commit', async () => {
      await fill(open(path));
      const committed = runInTransaction(requestScope(pool as DatabasePool), async (scope) => {
        await scope.resolve<IConnection>('IConnection').query("INSERT INTO stock VALUES ('fig', 1)");
        rmSync(path);
        await pause(WINDOW_MS);
      });
      const cause = fault(/deleted or moved/, '58030');
      await expect(committed).rejects.toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN', status: 503, cause });
    });

    test('that is moved back takes writes again, and has all that was acknowledged', async () => {
      await fill(open(path));
      const folder = dirname(path);
      renameSync(folder, `${folder}-elsewhere`);
      await expectRefusals(/deleted or moved/, '58030');
      renameSync(`${folder}-elsewhere`, folder);
      await add('fig');
      expect(await levels()).toBe(51);
    });

    test.each(['-wal', '-shm'])(
      'whose %s was deleted has all that was acknowledged in the file itself',
      async (suffix) => {
        await fill(open(path));
        rmSync(path + suffix);
        await expectRefusals(
          /deleted or moved while it was in use\. The file itself has all .* restart this program/,
          '58030',
        );
        const copy = `${path}.copy`;
        copyFileSync(path, copy);
        const other = createSqlitePool({ path: copy });
        expect(await other.query('SELECT level FROM stock')).toHaveLength(50);
        await other.close();
      },
    );

    test('whose -wal belongs to another program is not mixed with it', async () => {
      await fill(open(path));
      rmSync(`${path}-wal`);
      writeFileSync(`${path}-wal`, '');
      const before = readFileSync(path);
      await expectRefusals(/-wal was replaced while it was in use/, 'XX001');
      expect(readFileSync(path).equals(before)).toBe(true);
    });
  });

  test('without a -wal are those of the journal', async () => {
    await fill(sqlitePoolOver(engineOver(path, 'DELETE'), {}));
    expect(await levels()).toBe(50);
    // No time passes, so the pool does not look at the files again, and SQLite itself refuses.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    await add('fig');
    rmSync(path);
    await expect(add('plum')).rejects.toMatchObject({ sqlState: '25006' });
  });

  test('whose -wal SQLite itself has removed are in order', async () => {
    await fill(sqlitePoolOver(engineOver(path, 'WAL'), {}));
    await pool?.query('PRAGMA journal_mode = DELETE');
    await add('fig');
    await pool?.query('PRAGMA journal_mode = WAL');
    await add('plum');
    expect(await levels()).toBe(52);
  });

  test('whose -wal SQLite itself has removed and begun again before anybody looked are in order', async () => {
    await fill(sqlitePoolOver(engineOver(path, 'WAL'), {}));
    const window = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    await pool?.query('PRAGMA journal_mode = DELETE');
    await add('fig');
    await pool?.query('PRAGMA journal_mode = WAL');
    window.mockRestore();
    await pause(WINDOW_MS);
    await add('plum');
    expect(await levels()).toBe(52);
  });

  describe('of createSqlitePool()', () => {
    const CUT = /test\.db was cut short while it was in use/;
    const OVERWRITTEN = /test\.db was overwritten while it was in use/;
    const checkpoint = (): void => {
      const other = new Libsql(path);
      other.exec('PRAGMA wal_checkpoint(PASSIVE)');
      other.close();
    };
    /** The last program that closes a file removes its -wal, and only a lock says that it is not the last. */
    const openAndClose = (): void => {
      const program = `const db = new (require('libsql'))(process.argv[1]); db.exec('SELECT 1 FROM stock'); db.close();`;
      execFileSync(process.execPath, ['-e', program, path], { cwd: import.meta.dirname });
    };
    /** Its first pages, so that the file does not become shorter. */
    const overwriteWith = (copy: string): void => writeFileSync(path, readFileSync(copy), { flag: 'r+' });

    test.each([
      ['was emptied', () => truncateSync(path), CUT],
      ['lost its end', () => truncateSync(path, 8192), CUT],
      ['is noise', () => writeFileSync(path, Buffer.alloc(40_960, 'noise'), { flag: 'r+' }), OVERWRITTEN],
      ['is a backup of itself', () => copyFileSync(`${path}.backup`, path), OVERWRITTEN],
      ['is an older copy of itself', () => overwriteWith(`${path}.older`), OVERWRITTEN],
      ['is a copy with older tables', () => overwriteWith(`${path}.oldest`), OVERWRITTEN],
    ] as const)('that %s is found, and left as it is', async (_what, change, cause) => {
      await fill(createSqlitePool({ path }));
      checkpoint();
      copyFileSync(path, `${path}.oldest`);
      await pool?.query('CREATE TABLE later (id INTEGER)');
      checkpoint();
      copyFileSync(path, `${path}.older`);
      for (let n = 0; n < 100; n += 1) await add(`longer ${n} ${'x'.repeat(200)}`);
      await backupSqlite({ filename: path, to: `${path}.backup` });
      checkpoint();
      expect(await levels()).toBe(150);
      await pause(WINDOW_MS);
      await add('last');
      change();
      const changed = readFileSync(path);
      await expectRefusals(cause, 'XX001');
      await pool?.close();
      expect(readFileSync(path).equals(changed)).toBe(true);
    });

    test.each([
      ['and nothing is in the -wal', 0],
      ['and the -wal has its last page', 1],
    ])('that was cut before anybody saw how long it had become, %s, is found', async (_what, added) => {
      await fill(createSqlitePool({ path }));
      await pool?.query('UPDATE stock SET level = 2 WHERE level < 0');
      const other = new Libsql(path);
      const rows = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i FROM n';
      other.exec(`INSERT INTO stock SELECT 'further ' || i, 1 FROM (${rows})`);
      other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      if (added > 0) other.exec(`INSERT INTO stock SELECT 'more ' || i, 1 FROM (${rows})`);
      other.close();
      truncateSync(path, 4 * 4096);
      await expectRefusals(CUT, 'XX001');
      await expect(pool?.close()).resolves.toBeUndefined();
    });

    test.each([
      ['was emptied', () => truncateSync(`${path}-wal`)],
      ['lost its end', () => truncateSync(`${path}-wal`, 20_000)],
      ['is noise', () => writeFileSync(`${path}-wal`, Buffer.alloc(4096, 'noise'), { flag: 'r+' })],
    ] as const)('whose -wal %s is found', async (_what, change) => {
      await fill(createSqlitePool({ path }));
      change();
      await expectRefusals(/test\.db-wal was overwritten or cut short while it was in use/, 'XX001');
      expect(await pool?.close()).toBeUndefined();
    });

    test('whose -wal was emptied is found by a read that misses its table', async () => {
      await fill(createSqlitePool({ path }));
      truncateSync(`${path}-wal`);
      await expect(pool?.query('SELECT level FROM stock')).rejects.toMatchObject(
        fault(/overwritten or cut short/, 'XX001'),
      );
    });

    /** Another copy of this package is what a worker thread has. */
    const otherCopy = async (): Promise<typeof createSqlitePool> => {
      vi.resetModules();
      const copy = await import('../src/sqlite/index.js');
      expect(copy.createSqlitePool).not.toBe(createSqlitePool);
      return copy.createSqlitePool;
    };

    test.each([
      ['two pools have', () => createSqlitePool],
      ['another copy of this package has', otherCopy],
    ] as const)('that %s open stays locked when one of them is closed', async (_whose, openerOf) => {
      const open = await openerOf();
      const other = open({ path });
      await fill(createSqlitePool({ path }));
      await other.query('SELECT level FROM stock');
      await other.close();
      openAndClose();
      expect(existsSync(`${path}-wal`)).toBe(true);
      await pause(WINDOW_MS);
      await add('fig');
    });

    test('whose -wal another program has emptied stays in use when a read fails while a transaction is open', async () => {
      await fill(createSqlitePool({ path }));
      const other = new Libsql(path);
      await pause(WINDOW_MS);
      await add('fig');
      const window = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
      other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      other.close();
      await runInTransaction(requestScope(pool as DatabasePool), async (scope) => {
        await scope.resolve<IConnection>('IConnection').query("INSERT INTO stock VALUES ('plum', 1)");
        await expect(pool?.query('SELECT nonsense FROM stock')).rejects.toMatchObject({ sqlState: '42000' });
      });
      window.mockRestore();
      await pause(WINDOW_MS);
      await add('pear');
      expect(await levels()).toBe(53);
    });

    test('that another program has vacuumed, and was killed while it extended, stays in use', async () => {
      await fill(createSqlitePool({ path }));
      for (let n = 0; n < 100; n += 1) await add(`longer ${n} ${'x'.repeat(2000)}`);
      checkpoint();
      await pause(WINDOW_MS);
      await add('fig');
      const other = new Libsql(path);
      other.exec("DELETE FROM stock WHERE product LIKE 'longer%'; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
      other.exec(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO stock SELECT 'further ' || i, 1 FROM n",
      );
      other.close();
      writeFileSync(path, lastFirstPage(`${path}-wal`), { flag: 'r+' });
      await pause(WINDOW_MS);
      await add('plum');
      expect(await levels()).toBe(552);
      expect(await pool?.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    });

    test('whose connections were all replaced, because of what they had set, stays in use', async () => {
      await fill(createSqlitePool({ path }));
      await runInTransaction(requestScope(pool as DatabasePool), (scope) =>
        scope.resolve<IConnection>('IConnection').query('PRAGMA cache_size = -4000'),
      );
      await pool?.query('PRAGMA cache_size = -4000');
      // The driver closes a connection when its statements are collected.
      while (existsSync(`${path}-wal`)) {
        collectGarbage();
        await pause(10);
      }
      await pause(WINDOW_MS);
      await add('fig');
      expect(await levels()).toBe(51);
    });

    test('whose path is relative stays in use when the process changes its folder', async () => {
      const before = process.cwd();
      try {
        process.chdir(dirname(path));
        await fill(createSqlitePool({ path: 'test.db' }));
        process.chdir(dirname(dirname(path)));
        const connection = await (pool as DatabasePool).getConnection({ readOnly: true });
        expect(await connection.query('SELECT level FROM stock')).toHaveLength(50);
        connection.release();
      } finally {
        process.chdir(before);
      }
    });

    test('that other programs write, check, vacuum and extend stays in use', async () => {
      await fill(createSqlitePool({ path }));
      const other = createSqlitePool({ path });
      for (let n = 0; n < 100; n += 1) {
        await other.query('INSERT INTO stock VALUES ($1, 1)', [`${'x'.repeat(200)} ${n}`]);
        if (n % 10 === 0) checkpoint();
        await add(`further ${n}`);
      }
      await other.query("DELETE FROM stock WHERE product LIKE 'x%'");
      await other.query('VACUUM');
      checkpoint();
      await add('after VACUUM');
      await other.query('CREATE TABLE later (id INTEGER)');
      checkpoint();
      await other.close();
      await add('after close');
      await backupSqlite({ filename: path, to: `${path}.copy` });
      expect(await levels()).toBe(152);
      expect(readFileSync(`${path}-wal`).length).toBeGreaterThan(0);
    });
  });
});
