import type { IContainer } from '@ambit/container';
import type { IdempotencyHeader, IdempotentResponse, LockedRequest } from '@ambit/idempotency';
import type { IConnection } from '@ambit/transaction';
import { type Static, Type } from 'typebox';
import type { ISqlDialect, JsonColumns } from '../database/engine.js';
import { sqlFor } from '../database/engines.js';
import { idOf, type IRequestContext, newId } from '../ids.js';
import { feature, hosts, infrastructure, of } from '../infrastructure.js';
import { isoNow } from '../logging/logger.js';
import { Problem } from '../problem.js';

export interface IOrderRepository {
  create(body: NewOrder): Promise<Order>;
}

const insertOrder = ({ text }: ISqlDialect): string =>
  `INSERT INTO orders (id, request_id, created_at) VALUES (${text('$1')}, ${text('$2')}, ${text('$3')})`;

const INSERT_ORDER = sqlFor(insertOrder);

const LINE: JsonColumns = { position: 'integer', product_id: 'text', quantity: 'integer' };
const WANTED: JsonColumns = { product_id: 'text', quantity: 'integer' };

const insertItems = ({ rows, text }: ISqlDialect, lines: string): string =>
  `INSERT INTO order_items (order_id, position, product_id, quantity)
   SELECT ${text('$1')}, position, product_id, quantity FROM ${rows(lines, LINE)} AS line`;

const INSERT_ITEMS = sqlFor((dialect) => insertItems(dialect, '$2'));

const INSERT_ORDER_AND_ITEMS = sqlFor(
  (dialect) => `WITH placed AS (${insertOrder(dialect)}) ${insertItems(dialect, '$4')}`,
);

export class OrderRepository implements IOrderRepository {
  constructor(
    private readonly connection: IConnection,
    private readonly context: IRequestContext,
    private readonly dialect: ISqlDialect,
  ) {}

  async create(body: NewOrder): Promise<Order> {
    const order = {
      id: newId(),
      items: body.items.map(({ productId, quantity }) => ({ productId, quantity })),
      createdAt: isoNow(),
    };
    const lines = JSON.stringify(
      order.items.map(({ productId, quantity }, position) => ({ position, product_id: productId, quantity })),
    );
    const row = [order.id, this.context.requestId, order.createdAt];
    const { name, writesInWith } = this.dialect;
    if (writesInWith) await this.connection.query(INSERT_ORDER_AND_ITEMS[name], [...row, lines]);
    else {
      await this.connection.query(INSERT_ORDER[name], row);
      await this.connection.query(INSERT_ITEMS[name], [order.id, lines]);
    }
    return order;
  }
}

/**
 * Takes the items from stock and records them, or does neither if the stock of any product is too low. Returns the tracked
 * products with their levels before. `$1` is the id of the request, `$2` a JSON array of `{ product_id, quantity }` that
 * names each product once.
 *
 * It is one statement, so that the rows of the stock are locked for one round trip and COMMIT. They are locked in one fixed
 * order, before any is changed, so two orders for the same products cannot deadlock.
 *
 * The new level is that of the locked row less the quantity. With `stock.level` PostgreSQL would first compute it from the row as it was
 * when the statement began, and refuse the order where that was too little, though a delivery has just been stored.
 *
 * `= ANY (ARRAY(...))` makes the planner expect few elements and use the index for each. With an array parameter it would
 * plan the statement again for every order.
 */
const TAKE_AND_RECORD = sqlFor(
  ({ rows, text, forUpdate }) =>
    `WITH wanted AS (
       SELECT product_id, quantity FROM ${rows('$2', WANTED)} AS item
     ), tracked AS (
       SELECT product_id, level FROM stock WHERE product_id = ANY (ARRAY(SELECT product_id FROM wanted))
       ORDER BY product_id ${forUpdate}
     ), short AS (
       SELECT product_id FROM tracked JOIN wanted USING (product_id) WHERE level < quantity
     ), taken AS (
       UPDATE stock SET level = tracked.level - quantity FROM tracked JOIN wanted USING (product_id)
       WHERE stock.product_id = tracked.product_id AND stock.product_id = ANY (ARRAY(SELECT product_id FROM wanted))
         AND NOT EXISTS (SELECT 1 FROM short)
     ), recorded AS (
       INSERT INTO reservations (request_id, product_id, quantity)
       SELECT ${text('$1')}, product_id, quantity FROM wanted WHERE NOT EXISTS (SELECT 1 FROM short)
     )
     SELECT product_id, level FROM tracked`,
);

/**
 * Reserves in three steps, where one statement cannot do it all. `$1` is the JSON array. The rows are locked in its sequence, which is
 * the same for all orders, so two orders cannot deadlock.
 */
const LOCK_LEVELS = sqlFor(
  ({ rows, lookUp, forUpdate }) =>
    `SELECT product_id, level FROM ${rows('$1', WANTED)} AS item ${lookUp('stock')} USING (product_id) ${forUpdate}`,
);

const TAKE = sqlFor(({ rows, updateFrom }) =>
  updateFrom({
    table: 'stock',
    set: 'level = level - quantity',
    from: `${rows('$1', WANTED)} AS item`,
    where: 'stock.product_id = item.product_id',
  }),
);

/** `$1` is the id of the request, `$2` the JSON array. */
const RECORD = sqlFor(
  ({ rows }) =>
    `INSERT INTO reservations (request_id, product_id, quantity)
     SELECT $1, product_id, quantity FROM ${rows('$2', WANTED)} AS item`,
);

export interface IInventoryService {
  /** Takes all items from stock, or none. A product without a stock level is not tracked, only recorded. */
  reserve(items: readonly OrderItem[]): Promise<void>;
}

interface StockLevel {
  readonly product_id: string;
  /** Text where INTEGER has 64 bits. */
  readonly level: number | string;
}

export class InventoryService implements IInventoryService {
  constructor(
    private readonly connection: IConnection,
    private readonly context: IRequestContext,
    private readonly dialect: ISqlDialect,
  ) {}

  async reserve(items: readonly OrderItem[]): Promise<void> {
    const wanted = totals(items);
    const rows = JSON.stringify(inSequence(wanted));
    const { requestId } = this.context;
    if (this.dialect.writesInWith) {
      refuseShortage(wanted, await this.#query(TAKE_AND_RECORD, [requestId, rows]));
      return;
    }
    const levels = await this.#query(LOCK_LEVELS, [rows]);
    refuseShortage(wanted, levels);
    if (levels.length > 0) await this.#query(TAKE, [rows]);
    await this.#query(RECORD, [requestId, rows]);
  }

  #query(statement: Readonly<Record<ISqlDialect['name'], string>>, params: readonly unknown[]): Promise<StockLevel[]> {
    return this.connection.query<StockLevel>(statement[this.dialect.name], params);
  }
}

/** Checked in the order of the items, because the databases return the rows in different orders. */
function refuseShortage(wanted: ReadonlyMap<string, OrderItem>, levels: readonly StockLevel[]): void {
  const left = new Map(levels.map(({ product_id, level }) => [product_id, level]));
  for (const { productId, quantity } of wanted.values()) {
    const level = Number(left.get(productId) ?? quantity);
    if (level >= quantity) continue;
    throw new Problem(409, `Not enough stock of ${JSON.stringify(productId)}: ${quantity} wanted, ${level} left`);
  }
}

/** A product that is ordered twice is taken from stock once. */
function totals(items: readonly OrderItem[]): Map<string, OrderItem> {
  const wanted = new Map<string, OrderItem>();
  for (const { productId, quantity } of items) {
    const before = wanted.get(productId)?.quantity ?? 0;
    wanted.set(productId, { productId, quantity: before + quantity });
  }
  return wanted;
}

/** As rows, in one sequence for all orders. */
function inSequence(wanted: ReadonlyMap<string, OrderItem>): object[] {
  const rows = Array.from(wanted.values(), ({ productId, quantity }) => ({ product_id: productId, quantity }));
  return rows.toSorted((a, b) => (a.product_id < b.product_id ? -1 : 1));
}

const DEPENDENCIES = ['IConnection', 'IRequestContext', 'ISqlDialect'] as const;

export const orderFeature = feature(
  'orders',
  {
    IOrderRepository: of('transaction', OrderRepository, DEPENDENCIES).as<IOrderRepository>(),
    IInventoryService: of('transaction', InventoryService, DEPENDENCIES).as<IInventoryService>(),
  },
  hosts,
  infrastructure,
);

export const OrderItem = Type.Object({
  productId: Type.String({
    minLength: 1,
    maxLength: 200,
    format: 'text',
    description: 'The product, as the stock names it. One without a stock level can be ordered freely.',
  }),
  quantity: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'How many pieces.' }),
});
export type OrderItem = Static<typeof OrderItem>;

const Items = Type.Array(OrderItem, {
  minItems: 1,
  maxItems: 1000,
  description: 'What is ordered, in the sequence of the request.',
});

export const NewOrder = Type.Object({ items: Items });
export type NewOrder = Static<typeof NewOrder>;

/** Its items are in the sequence of the request. */
export const Order = Type.Object({
  id: idOf('Assigned by the service, a UUID.'),
  items: Items,
  createdAt: Type.String({ format: 'date-time', description: 'When the order was stored, in UTC.' }),
});
export type Order = Static<typeof Order>;

/**
 * Locks the key of the order, if it has one. Called before a connection is acquired, so that a second request under a locked key
 * never needs one.
 */
export function lockOrder(request: IContainer, key: IdempotencyHeader, { items }: NewOrder): LockedRequest | undefined {
  if (key === undefined) return undefined;
  const input = items.map(({ productId, quantity }) => [productId, quantity]);
  const { userId: caller } = request.resolve('IRequestContext');
  return request.resolve('IIdempotency').lock(request, { key, caller, endpoint: 'POST /api/orders', input });
}

/** Stores the order, its stock and its key in the transaction of the given scope. */
export function placeOrder(
  transaction: IContainer,
  locked: LockedRequest | undefined,
  body: NewOrder,
): Promise<IdempotentResponse<Order>> {
  const orders = transaction.resolve('IOrderRepository');
  const inventory = transaction.resolve('IInventoryService');
  const place = async (): Promise<IdempotentResponse<Order>> => {
    const order = await orders.create(body);
    await inventory.reserve(order.items);
    return { status: 201, headers: {}, body: order, replayed: false };
  };
  return locked ? locked.respond(transaction, place) : place();
}
