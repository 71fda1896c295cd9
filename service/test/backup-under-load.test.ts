import { join } from 'node:path';
import { Happenings } from '@ambit/test-kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPool } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { backupKinds, BackupPlace, type Environment } from './support/backups.js';
import { type JsonResponse, request } from './support/http.js';
import { ServiceProcess } from './support/service-process.js';

interface Order {
  readonly id: string;
}

const STOCK = 1_000_000;
const QUANTITY = 3;
const CLIENTS = 4;
const FIRST_ORDERS = 50;
const TIMEOUT_MS = 50_000;
/** Each test starts five programs, which a busy machine does slowly. */
const TEST_TIMEOUT_MS = 60_000;

let place: BackupPlace;
beforeEach(() => {
  place = new BackupPlace();
});
afterEach(() => place.remove());

function order(url: string, key: string): Promise<JsonResponse<Order>> {
  const body = { items: [{ productId: 'apple', quantity: QUANTITY }] };
  return request(url, { method: 'POST', path: '/api/orders', body, headers: { 'idempotency-key': key } });
}

/** Clients that place one order after the other, until they are stopped. */
class Load {
  /** Ids by key. */
  readonly acknowledged = new Map<string, string>();
  readonly #happenings = new Happenings();
  readonly #clients: Promise<unknown>;
  #stopping = false;

  constructor(url: string) {
    let next = 0;
    const client = async (): Promise<void> => {
      while (!this.#stopping) {
        const key = `key-${next++}`;
        const { status, body } = await order(url, key);
        expect(status).toBe(201);
        this.acknowledged.set(key, body.id);
        this.#happenings.tell();
      }
    };
    this.#clients = Promise.all(Array.from({ length: CLIENTS }, client));
  }

  async until(count: number): Promise<void> {
    const placed = this.#happenings.until(() => this.acknowledged.size >= count, `${count} orders`, TIMEOUT_MS);
    await Promise.race([placed, this.#clients]);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#clients;
  }
}

interface Stored {
  readonly orders: readonly string[];
  /** How many rows each table has that a whole order stores once. */
  readonly counts: readonly number[];
  readonly level: number;
}

async function stored(env: Environment): Promise<Stored> {
  const pool = createPool(readConfig(env).database);
  const rows = async (table: string): Promise<number> =>
    Number((await pool.query(`SELECT count(*) AS n FROM ${table}`))[0]?.['n']);
  const orders = (await pool.query<{ id: string }>('SELECT id FROM orders')).map(({ id }) => id);
  const counts = [await rows('order_items'), await rows('reservations'), await rows('idempotency_keys')];
  const [stock] = await pool.query(`SELECT level FROM stock WHERE product_id = 'apple'`);
  await pool.close();
  return { orders, counts, level: Number(stock?.['level']) };
}

describe.each(backupKinds)(
  'a backup of $name that is made while orders are placed',
  ({ missing, open, backUp, restore }) => {
    test.skipIf(missing)(
      'has every order acknowledged before it began, no part of one, and goes on',
      async () => {
        const env = await open(place);
        const file = join(place.folder, 'backup');
        await using service = new ServiceProcess(env);
        const url = await service.url();
        await new ServiceProcess(env, { program: 'stock.js', args: ['set', 'apple', String(STOCK)] }).exit;

        const load = new Load(url);
        await load.until(FIRST_ORDERS);
        const before = new Map(load.acknowledged);
        await backUp(env, file);
        await load.stop();
        expect(load.acknowledged.size).toBeGreaterThan(before.size);

        const restored = await restore(place, file);
        const { orders, counts, level } = await stored(restored);
        expect(orders).toEqual(expect.arrayContaining([...before.values()]));
        expect(counts).toEqual(counts.map(() => orders.length));
        expect(level).toBe(STOCK - QUANTITY * orders.length);

        await using again = new ServiceProcess(restored);
        const [[key = '', id] = []] = before;
        const replayed = await order(await again.url(), key);
        expect([replayed.body.id, replayed.headers.get('idempotency-replayed')]).toEqual([id, 'true']);
        expect((await order(await again.url(), 'new')).status).toBe(201);
        expect((await stored(restored)).level).toBe(level - QUANTITY);
      },
      TEST_TIMEOUT_MS,
    );
  },
);
