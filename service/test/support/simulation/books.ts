import { isDeepStrictEqual } from 'node:util';
import type { Values } from './database.js';
import type { Intent, OrderItem } from './intent.js';
import type { Run } from './run.js';

/** What must be true when all is over. */
export function checkBooks(run: Run): void {
  const { database, instances, intents } = run;
  for (const violation of database.violations) run.broke(violation);
  for (const intent of intents) intent.check();
  checkKeys(run);
  checkOrders(run);
  checkStock(run);
  const marks = new Set(intents.map(({ mark }) => mark));
  for (const { name } of database.committed('users'))
    if (!marks.has(String(name))) run.broke(`nobody wanted ${String(name)}`);
  for (const { name, pool, errors } of instances) {
    const { open = 0, waiting = 0 } = pool.size ?? {};
    if (open > 0) run.broke(`${name} has ${open} connections out`);
    if (waiting > 0) run.broke(`${waiting} wait for a connection of ${name}`);
    for (const { msg, err } of errors)
      if (!EXPECTED.test(msg) || err?.code === 'AMBIT_TX_SCOPE_FAILED')
        run.broke(`${name} wrote into its log: ${msg}, ${err?.message}`);
  }
  for (const { state } of database.sessions) if (state !== 'idle') run.broke(`a session is ${state}`);
}

/** What a fault of the database or a client explains; a handler may respond when its time limit has passed, and another has responded. */
const EXPECTED = /^(?:request failed|not ready|The transaction failed to close|A second response was dropped)/;

/** Once for each key, however many clients ask for what; and what is kept under a key is what was stored with it. */
function checkKeys(run: Run): void {
  const byKey = new Map<string, Intent[]>();
  for (const intent of run.intents)
    if (intent.key !== undefined) byKey.set(intent.key, [...(byKey.get(intent.key) ?? []), intent]);
  const kept = new Map(run.database.committed('idempotency_keys').map((row) => [String(row['key']), row]));
  for (const [key, intents] of byKey) {
    const stored = intents.flatMap((intent) => intent.stored);
    if (stored.length > 1 + run.expiries) run.broke(`${stored.length} things are stored with the key ${key}`);
    if (stored.length > 0 && !kept.has(key) && run.expiries === 0) run.broke(`the key ${key} is not kept`);
    const { body } = kept.get(key) ?? {};
    const isOfStored = stored.some(({ id }) => typeof body === 'string' && JSON.parse(body).id === id);
    if (kept.has(key) && !isOfStored) run.broke(`${String(body)} is kept under the key ${key}, and not stored`);
  }
  for (const { key, mark, stored } of run.intents)
    if (key === undefined && stored.length > 1) run.broke(`${mark} is stored ${stored.length} times`);
}

/** Whole, with the items that somebody wanted, and what it took of each product is recorded. */
function checkOrders(run: Run): void {
  const { database, intents } = run;
  const items = database.committed('order_items');
  const taken = database.committed('reservations');
  const wanted = new Map(intents.map((intent) => [intent.mark, intent.wanted]));
  for (const { id, request_id: requestId } of database.committed('orders')) {
    const own = itemsOf(items.filter(({ order_id: orderId }) => orderId === id));
    if (!isDeepStrictEqual({ items: own }, wanted.get(own[0]?.productId ?? '')))
      run.broke(`an order is stored with the items ${JSON.stringify(own)}`);
    const recorded = taken.filter((row) => row['request_id'] === requestId);
    if (!isDeepStrictEqual(sumsOf(recorded), sumsOf(items.filter((row) => row['order_id'] === id))))
      run.broke(`an order is stored, and recorded is ${JSON.stringify(recorded)}`);
  }
  const orders = new Set(database.committed('orders').map(({ id }) => id));
  const requests = new Set(database.committed('orders').map(({ request_id: requestId }) => requestId));
  for (const { order_id: orderId } of items) if (!orders.has(orderId)) run.broke('an item is stored without its order');
  for (const { request_id: requestId } of taken)
    if (!requests.has(requestId)) run.broke('a reservation is stored without its order');
}

function itemsOf(rows: readonly Values[]): OrderItem[] {
  const sorted = rows.toSorted((one, other) => Number(one['position']) - Number(other['position']));
  return sorted.map((row) => ({ productId: String(row['product_id']), quantity: Number(row['quantity']) }));
}

/** How many of each product. */
function sumsOf(rows: readonly Values[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { product_id: product, quantity } of rows)
    sums.set(String(product), (sums.get(String(product)) ?? 0) + Number(quantity));
  return sums;
}

/** Of each product so much is left as there was without what the stored orders took; and no order was refused for what there is. */
function checkStock(run: Run): void {
  const { database, stock, intents } = run;
  const taken = sumsOf(database.committed('order_items'));
  for (const row of database.committed('stock')) {
    const [name, level] = [String(row['product_id']), Number(row['level'])];
    const left = Number(stock[name]) + (run.delivered[name] ?? 0) - (taken.get(name) ?? 0);
    if (level !== left || left < 0) run.broke(`the stock of ${name} is ${level}, and should be ${left}`);
  }
  for (const { wanted, attempts, mark } of intents) {
    const isShort = attempts.some(({ response }) => response?.text.includes('Not enough stock'));
    if (isShort && 'items' in wanted && !wanted.items.some(({ productId }) => mayBeShort(productId)))
      run.broke(`${mark} was refused, and there is enough`);
  }
  function mayBeShort(product: string): boolean {
    const all = intents.flatMap((intent) =>
      'items' in intent.wanted ? intent.wanted.items.map((item) => ({ ...item, tries: intent.attempts.length })) : [],
    );
    const demand = all.reduce((sum, item) => sum + (item.productId === product ? item.quantity * item.tries : 0), 0);
    return product in stock && demand > Number(stock[product]);
  }
}
