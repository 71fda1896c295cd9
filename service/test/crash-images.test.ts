import { closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { OrderLoad } from './support/order-load.js';
import { SqliteStorage } from './support/sqlite-storage.js';

function overwriteAt(file: string, at: number, bytes = Buffer.alloc(200, 'noise')): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}

const PAGE = 4096;

interface Left {
  readonly what: string;
  readonly change?: (storage: SqliteStorage) => void | Promise<void>;
  /** So many of the last ones are not there. */
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
];

/** Orders without items, items without an order, and reservations without either. */
const HALVES = `SELECT id FROM orders WHERE id NOT IN (SELECT order_id FROM order_items)
  UNION ALL SELECT order_id FROM order_items WHERE order_id NOT IN (SELECT id FROM orders)
  UNION ALL SELECT request_id FROM reservations WHERE request_id NOT IN (SELECT request_id FROM orders)`;

describe('a service that was killed', () => {
  test.each(LEFT)('and left $what starts with what was acknowledged', async (left) => {
    const { change, lost = 0 } = left;
    await using storage = new SqliteStorage();
    await using killed = storage.start();
    await using load = new OrderLoad(await killed.url());
    await load.acknowledges(40);
    killed.kill();
    await killed.exit;
    await load.end().catch(() => undefined);
    await change?.(storage);
    await using next = storage.start();
    await next.url();
    const stored = await storage.products();
    const missing = load.acknowledged.filter(({ product }) => !stored.has(product));
    expect(missing.length).toBeLessThanOrEqual(lost);
    expect(await storage.read(HALVES)).toEqual([]);
  });
});

test('npm run check-database finds a damaged page, and says what to do', async () => {
  await using storage = new SqliteStorage();
  await using service = storage.start();
  await using load = new OrderLoad(await service.url());
  await load.acknowledges(40);
  await load.end();
  expect(await storage.check()).toEqual({ code: 0, output: 'No damage was found.\n' });
  service.kill();
  await service.exit;
  await storage.run('PRAGMA wal_checkpoint(TRUNCATE)');
  overwriteAt(storage.file, (statSync(storage.file).size / PAGE - 1) * PAGE);
  const { code, output } = await storage.check();
  expect(code).toBe(1);
  expect(output).toMatch(/Restore a backup/);
  expect(output).not.toMatch(/^\s+at /m);
});
