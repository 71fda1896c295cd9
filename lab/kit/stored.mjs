/** @typedef {import('./ledger.mjs').Ledger} Ledger */
/** @typedef {import('./ledger.mjs').Work} Work */
/** @typedef {import('./databases.mjs').Stored} Stored */
/** @typedef {import('./databases.mjs').Row} Row */
/** @typedef {import('./ledger.mjs').Item} Item */
/** @typedef {{ id: string, requestId: string, createdAt: string, items: Item[] }} StoredOrder */

/** How many violations of a kind are reported in full. */
const MAX_REPORTED = 5;

/** Counts violations by kind, and reports the first ones of each kind. */
export class Findings {
  /** @type {Map<string, number>} */
  counts = new Map();
  /** @type {string[]} */
  reported = [];

  /**
   * @param {string} kind
   * @param {string} detail
   */
  add(kind, detail) {
    const count = this.count(kind) + 1;
    this.counts.set(kind, count);
    if (count <= MAX_REPORTED) this.reported.push(`${kind}: ${detail}`);
  }

  get total() {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** @param {string} kind */
  count(kind) {
    return this.counts.get(kind) ?? 0;
  }
}

/**
 * Sets the initial stock levels directly in the database.
 * @param {Stored} database
 * @param {ReadonlyMap<string, number>} levels
 */
export async function setStock(database, levels) {
  await database.query('DELETE FROM stock');
  for (const [product, level] of levels) {
    await database.query('INSERT INTO stock (product_id, level) VALUES ($1, $2)', [product, level]);
  }
}

/**
 * Reads all orders, and finds incomplete ones: without items, with gaps, or with other reservations than items.
 * @param {Stored} database
 * @param {Findings} findings
 * @returns {Promise<StoredOrder[]>}
 */
async function readOrders(database, findings) {
  const rows = await database.query('SELECT id, request_id, created_at FROM orders ORDER BY id');
  const items = groupBy(
    await database.query(
      'SELECT order_id, position, product_id, quantity FROM order_items ORDER BY order_id, position',
    ),
    'order_id',
  );
  const reserved = groupBy(
    await database.query('SELECT request_id, product_id, quantity FROM reservations'),
    'request_id',
  );

  const orders = rows.map((row) => {
    const [id, requestId] = [String(row['id']), String(row['request_id'])];
    const own = items.get(id) ?? [];
    const order = { id, requestId, createdAt: String(row['created_at']), items: own.map(itemOf) };
    if (own.length === 0) findings.add('half-written', `order ${id} has no items`);
    if (own.some(({ position }, index) => position !== index)) findings.add('half-written', `order ${id} lacks items`);
    const taken = (reserved.get(requestId) ?? []).map(itemOf);
    if (!sameTotals(order.items, taken)) findings.add('half-written', `order ${id} and its reservations differ`);
    items.delete(id);
    reserved.delete(requestId);
    return order;
  });
  for (const id of items.keys()) findings.add('half-written', `items of ${id}, an order that is not there`);
  for (const id of reserved.keys()) findings.add('half-written', `reservations of request ${id} without its order`);
  return orders;
}

/**
 * Checks that reserved plus remaining stock is the initial stock.
 * @param {Stored} database
 * @param {ReadonlyMap<string, number>} start
 * @param {Findings} findings
 */
async function checkStock(database, start, findings) {
  const rows = await database.query(
    `SELECT s.product_id, s.level, (SELECT SUM(r.quantity) FROM reservations r WHERE r.product_id = s.product_id) AS taken
     FROM stock s`,
  );
  if (rows.length !== start.size) findings.add('stock', `${rows.length} products have a level, not ${start.size}`);
  for (const row of rows) {
    const [product, level, taken] = [String(row['product_id']), Number(row['level']), Number(row['taken'])];
    const said = `${product} had ${start.get(product)}, ${taken} were reserved, ${level} are left`;
    if (start.get(product) !== level + taken || level < 0) findings.add('stock', said);
  }
}

/** @param {Row} row */
function itemOf(row) {
  return { productId: String(row['product_id']), quantity: Number(row['quantity']) };
}

/**
 * @param {Item[]} ordered
 * @param {Item[]} reserved
 */
function sameTotals(ordered, reserved) {
  /** @type {Map<string, number>} */
  const left = new Map();
  for (const { productId, quantity } of ordered) left.set(productId, (left.get(productId) ?? 0) + quantity);
  for (const { productId, quantity } of reserved) left.set(productId, (left.get(productId) ?? 0) - quantity);
  return [...left.values()].every((quantity) => quantity === 0);
}

/**
 * @param {Row[]} rows
 * @param {string} column
 */
function groupBy(rows, column) {
  /** @type {Map<string, Row[]>} */
  const groups = new Map();
  for (const row of rows) {
    const name = String(row[column]);
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return groups;
}

/** @type {(name: string, count: number, level: number) => [string, number][]} */
const products = (name, count, level) => Array.from({ length: count }, (_, i) => [`${name}-${i}`, level]);
/** The initial levels. */
export const STOCK = new Map([...products('plenty', 30, 1_000_000), ...products('few', 4, 40)]);
/** @type {readonly [string, ...string[]]} */
export const PRODUCTS = ['untracked', ...STOCK.keys()];
/** The kinds of violations. */
export const KINDS = [
  'acknowledged and missing',
  'half-written',
  'stock',
  'keys',
  'done more than once',
  'denied and done',
  'responses',
  'process',
];

/**
 * Compares everything that is stored with the responses in the ledger; returns the orders.
 * @param {Stored} database
 * @param {Ledger} ledger
 * @param {Findings} findings
 */
export async function compare(database, ledger, findings) {
  const orders = await readOrders(database, findings);
  await checkStock(database, STOCK, findings);
  await checkGuarantees(database, orders, ledger, findings);
  return orders;
}

/**
 * Compares the responses that clients received with what is stored.
 * @param {Stored} database
 * @param {StoredOrder[]} orders
 * @param {Ledger} ledger
 * @param {Findings} findings
 */
async function checkGuarantees(database, orders, ledger, findings) {
  for (const violation of ledger.violations) findings.add('responses', violation);
  const users = await database.query('SELECT id, name, email FROM users');
  const keys = await database.query('SELECT idempotency_keys.key, status, body FROM idempotency_keys');

  /** @type {Map<string, { stored: string, requestId: string | undefined }[]>} by mark, what is stored in the form of its response */
  const done = new Map([...ledger.works.keys()].map((mark) => [mark, []]));
  for (const { id, items, createdAt, requestId } of orders) {
    const stored = JSON.stringify({ id, items, createdAt });
    const mark = items.map(({ productId }) => productId).find((productId) => done.has(productId));
    if (mark === undefined) findings.add('half-written', `an order that nobody requested: ${stored}`);
    else done.get(mark)?.push({ stored, requestId });
  }
  for (const { id, name, email } of users) {
    done.get(String(name))?.push({ stored: JSON.stringify({ id, name, email }), requestId: undefined });
  }
  for (const work of ledger.works.values()) checkWork(work, done.get(work.mark) ?? [], findings);
  checkKeys(keys, ledger, done, findings);
}

/**
 * @param {Work} work
 * @param {{ stored: string, requestId: string | undefined }[]} done
 * @param {Findings} findings
 */
function checkWork(work, done, findings) {
  const { kind, mark, response, requestId } = work;
  const [first] = done;
  if (response !== undefined && !done.some(({ stored }) => stored === response)) {
    findings.add('acknowledged and missing', `${response}; stored is ${first?.stored}`);
  }
  if (requestId && kind === 'order' && first && first.requestId !== requestId) {
    findings.add('half-written', `${mark} was done by request ${requestId}, stored is ${first.requestId}`);
  }
  if (first && response === undefined && kind === 'order') {
    const { items } = JSON.parse(first.stored);
    if (JSON.stringify({ items }) !== JSON.stringify(work.body)) {
      findings.add('half-written', `${mark} requested ${JSON.stringify(work.body)}; stored is ${first.stored}`);
    }
  }
  if (done.length > 1)
    findings.add('done more than once', `${mark}: ${done.map(({ stored }) => stored).join(' and ')}`);
  if (done.length > 0 && work.refused) findings.add('denied and done', `${mark} was refused: ${first?.stored}`);
  if (done.length > 0 && work.denied) findings.add('denied and done', `${mark} got 503: ${first?.stored}`);
}

/**
 * A key is stored with its work, or neither is.
 * @param {Row[]} rows
 * @param {Ledger} ledger
 * @param {Map<string, { stored: string }[]>} done
 * @param {Findings} findings
 */
function checkKeys(rows, ledger, done, findings) {
  const bodies = new Map(rows.map(({ key, status, body }) => [key, status === 201 ? body : `status ${status}`]));
  for (const { key, mark } of ledger.works.values()) {
    if (key === undefined) continue;
    const [body, stored] = [bodies.get(key), done.get(mark)?.[0]?.stored];
    if (body !== stored) findings.add('keys', `${key} keeps ${body}; stored is ${stored}`);
    bodies.delete(key);
  }
  for (const key of bodies.keys()) findings.add('keys', `${key} was never sent`);
}
