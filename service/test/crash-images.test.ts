import { closeSync, copyFileSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { OrderLoad } from './support/order-load.js';
import { SqliteStorage } from './support/sqlite-storage.js';

function overwriteAt(file: string, at: number, bytes = Buffer.alloc(200, 'noise')): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}

const PAGE = 4096;

/** A page as it was before the last checkpoint, which leaves an index without a row of its table. */
async function loseWrite({ file, beside }: SqliteStorage): Promise<void> {
  await using pool = createSqlitePool({ path: file });
  await pool.query('PRAGMA wal_checkpoint(TRUNCATE)');
  const [index] = await pool.query<{ page: number }>(
    "SELECT rootpage AS page FROM sqlite_schema WHERE name = 'sqlite_autoindex_stock_1'",
  );
  const at = ((index?.page ?? 0) - 1) * PAGE;
  const before = readFileSync(file).subarray(at, at + PAGE);
  await pool.query("INSERT INTO stock VALUES ('fig', 1)");
  await pool.query('PRAGMA wal_checkpoint(TRUNCATE)');
  await pool.query("INSERT INTO users VALUES ('1', 'Ada', 'ada@example.org')");
  for (const suffix of ['', '-wal']) copyFileSync(file + suffix, beside(`image${suffix}`));
  overwriteAt(beside('image'), at, before);
  await pool.close();
  for (const suffix of ['', '-wal']) {
    // As a new file, because the driver keeps those of a closed pool open, and may write to them later.
    rmSync(file + suffix);
    copyFileSync(beside(`image${suffix}`), file + suffix);
  }
}

interface Left {
  readonly what: string;
  readonly change?: (storage: SqliteStorage) => void | Promise<void>;
  /** Why the next start is refused; without it every order is there, but for so many of the last ones. */
  readonly refusal?: RegExp;
  readonly lost?: number;
}

const LEFT: readonly Left[] = [
  { what: 'everything' },
  { what: 'no -shm', change: ({ file }) => rmSync(`${file}-shm`) },
  {
    // As if its last write had been torn before it was flushed.
    what: 'a -wal without its end',
    change: ({ file }) => truncateSync(`${file}-wal`, statSync(`${file}-wal`).size - 100),
    lost: 1,
  },
  {
    what: 'a damaged -wal',
    change: ({ file }) => overwriteAt(`${file}-wal`, 32 + 2 * (24 + PAGE)),
    refusal: /ambit\.db-wal is damaged at byte 8272, .*truncate -s 8272 /,
  },
  {
    what: 'a -wal without its file',
    change: ({ file }) => rmSync(file),
    refusal: /ambit\.db is missing, and .*-wal still has transactions of it/,
  },
  {
    what: 'a file with a damaged page',
    change: async (storage) => {
      await storage.run('PRAGMA wal_checkpoint(TRUNCATE)');
      overwriteAt(storage.file, 2 * PAGE);
    },
    refusal: /The file ambit\.db in .* cannot be used: .* \(XX001\)\. It is damaged.* Restore a backup/s,
  },
  {
    what: 'a file with a page whose write was lost',
    change: loseWrite,
    refusal:
      /The file ambit\.db in .* cannot be used: .*missing from index .* \(XX001\)\. It is damaged.* Restore a backup/s,
  },
];

/** Orders without items, items without an order, and reservations without either. */
const HALVES = `SELECT id FROM orders WHERE id NOT IN (SELECT order_id FROM order_items)
  UNION ALL SELECT order_id FROM order_items WHERE order_id NOT IN (SELECT id FROM orders)
  UNION ALL SELECT request_id FROM reservations WHERE request_id NOT IN (SELECT request_id FROM orders)`;

describe.each(HOST_VARIANTS)('on %s, a service that was killed', (host) => {
  test.each(LEFT)('and left $what starts with what was acknowledged, or not at all', async (left) => {
    const { change, refusal, lost = 0 } = left;
    await using storage = new SqliteStorage();
    await using killed = storage.start(host);
    await using load = new OrderLoad(await killed.url());
    await load.acknowledges(40);
    killed.kill();
    await killed.exit;
    await load.end().catch(() => undefined);
    await change?.(storage);
    await using next = storage.start(host);
    if (refusal) {
      await expect(next.url()).rejects.toThrow(refusal);
      expect((await next.exit).code).toBe(1);
      return;
    }
    await next.url();
    const stored = await storage.products();
    const missing = load.acknowledged.filter(({ product }) => !stored.has(product));
    expect(missing.length).toBeLessThanOrEqual(lost);
    expect(await storage.read(HALVES)).toEqual([]);
  });
});
