import { expect, test } from 'vitest';
import { onEveryStage } from './support/every-stage.js';
import type { Stage } from './support/stage.js';

interface Work {
  readonly kind: 'order' | 'user';
  readonly response: string | undefined;
}

interface Ledger {
  readonly works: ReadonlyMap<string, Work>;
  newWork(): Work;
  note(work: Work, response: object | undefined): void;
}

interface Findings {
  readonly counts: ReadonlyMap<string, number>;
}

interface Database {
  query(sql: string, params?: unknown[]): Promise<object[]>;
}

/** The chaos tests are JavaScript, whose types this project does not read. */
const support = async (name: string): Promise<unknown> =>
  import(String(new URL(`../chaos/support/${name}.mjs`, import.meta.url)));

const { Ledger } = (await support('ledger')) as { Ledger: new (products: readonly string[]) => Ledger };
const { Findings, setStock } = (await support('stored')) as {
  Findings: new () => Findings;
  setStock(database: Database, levels: ReadonlyMap<string, number>): Promise<void>;
};
const { compare, PRODUCTS, STOCK } = (await support('comparison')) as {
  compare(database: Database, ledger: Ledger, findings: Findings): Promise<unknown>;
  PRODUCTS: readonly string[];
  STOCK: ReadonlyMap<string, number>;
};
const { bytesOf, Client } = (await support('client')) as {
  bytesOf(work: Work): string;
  Client: new (url: () => string) => { send(bytes: string): Promise<object | undefined>; close(): void };
};

const WORKS = 20;

onEveryStage((stage) => {
  test('the ledger finds nothing where everything acknowledged is stored once', async () => {
    const ledger = await acknowledged(stage);
    expect(await violations(stage, ledger)).toEqual([]);
  });

  test('the ledger finds an acknowledged order that was lost', async () => {
    const ledger = await acknowledged(stage);
    await lose(stage, anOrder(ledger));
    expect(await violations(stage, ledger)).toEqual([['acknowledged and missing', 1]]);
  });

  test('the ledger finds an order that was stored twice', async () => {
    const ledger = await acknowledged(stage);
    await storeAgain(stage, anOrder(ledger));
    expect(await violations(stage, ledger)).toEqual([['done more than once', 1]]);
  });

  test('the ledger finds an order whose stock was not taken', async () => {
    const ledger = await acknowledged(stage);
    await stage.rows('UPDATE stock SET level = level + 1 WHERE product_id = $1', ['plenty-0']);
    expect(await violations(stage, ledger)).toEqual([['stock', 1]]);
  });
});

/** Orders and users that the service has acknowledged. */
async function acknowledged(stage: Stage): Promise<Ledger> {
  await setStock(databaseOf(stage), STOCK);
  const ledger = new Ledger(PRODUCTS);
  const client = new Client(() => stage.app.url);
  for (let count = 0; count < WORKS; count++) {
    const work = ledger.newWork();
    ledger.note(work, await client.send(bytesOf(work)));
  }
  client.close();
  return ledger;
}

async function violations(stage: Stage, ledger: Ledger): Promise<[string, number][]> {
  const findings = new Findings();
  await compare(databaseOf(stage), ledger, findings);
  return [...findings.counts];
}

function databaseOf(stage: Stage): Database {
  return { query: (sql, params) => stage.rows(sql, params) };
}

function anOrder({ works }: Ledger): string {
  const order = [...works.values()].find(({ kind, response }) => kind === 'order' && response !== undefined);
  return (JSON.parse(order?.response ?? '{}') as { id: string }).id;
}

/** Everything of the order, so that only the ledger knows of it: as after a failover to a standby that did not have it. */
async function lose(stage: Stage, id: string): Promise<void> {
  await takeStock(stage, id, '+');
  await stage.rows('DELETE FROM reservations WHERE request_id = (SELECT request_id FROM orders WHERE id = $1)', [id]);
  await stage.rows('DELETE FROM idempotency_keys WHERE body LIKE $1', [`%${id}%`]);
  await stage.rows('DELETE FROM order_items WHERE order_id = $1', [id]);
  await stage.rows('DELETE FROM orders WHERE id = $1', [id]);
}

/** A second order with the same items, as complete as the first. */
async function storeAgain(stage: Stage, id: string): Promise<void> {
  await takeStock(stage, id, '-');
  await stage.rows(
    `INSERT INTO orders (id, request_id, created_at) SELECT ${twice('id')}, ${twice('request_id')}, created_at FROM orders WHERE id = $1`,
    [id],
  );
  await stage.rows(
    `INSERT INTO order_items (order_id, position, product_id, quantity)
     SELECT ${twice('order_id')}, position, product_id, quantity FROM order_items WHERE order_id = $1`,
    [id],
  );
  await stage.rows(
    `INSERT INTO reservations (request_id, product_id, quantity)
     SELECT ${twice('request_id')}, product_id, quantity FROM reservations
     WHERE request_id = (SELECT request_id FROM orders WHERE id = $1)`,
    [id],
  );
}

/** Another id, of the same length. */
const twice = (id: string): string => `REPLACE(${id}, '-7', '-8')`;

async function takeStock(stage: Stage, id: string, sign: '+' | '-'): Promise<void> {
  await stage.rows(
    `UPDATE stock SET level = level ${sign} (SELECT SUM(quantity) FROM order_items
       WHERE order_id = $1 AND order_items.product_id = stock.product_id)
     WHERE product_id IN (SELECT product_id FROM order_items WHERE order_id = $1)`,
    [id],
  );
}
