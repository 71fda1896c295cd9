import type { IContainer } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import { type Static, Type } from 'typebox';
import type { IRequestContext } from '../audit.js';
import { type ISqlDialect, sqlFor } from '../database/pool.js';
import {
  type IdempotentRequest,
  idempotentRequest,
  type KeyHeader,
  type ReplayableResponse,
} from '../idempotency/idempotency.js';
import { idOf, newId } from '../ids.js';
import { feature, hosts, infrastructure, of } from '../infrastructure.js';
import { isoNow } from '../iso-now.js';
import { type IInventoryService, InventoryService } from './inventory-service.js';

export interface IOrderRepository {
  create(body: NewOrder): Promise<Order>;
}

const INSERT_ORDER = 'INSERT INTO orders (id, request_id, created_at) VALUES ($1, $2, $3)';

const insertItems = ({ elements }: ISqlDialect, rows: string): string =>
  `INSERT INTO order_items (order_id, position, product_id, quantity)
   SELECT CAST($1 AS text), CAST(item.value ->> 'position' AS integer), item.value ->> 'productId',
          CAST(item.value ->> 'quantity' AS integer)
   FROM ${elements(rows)} AS item`;

const INSERT_ITEMS = sqlFor((dialect) => insertItems(dialect, '$2'));

const INSERT_ORDER_AND_ITEMS = sqlFor((dialect) => `WITH placed AS (${INSERT_ORDER}) ${insertItems(dialect, '$4')}`);

export class OrderRepository implements IOrderRepository {
  readonly #connection: IConnection;
  readonly #context: IRequestContext;
  readonly #dialect: ISqlDialect;

  constructor(connection: IConnection, context: IRequestContext, dialect: ISqlDialect) {
    this.#connection = connection;
    this.#context = context;
    this.#dialect = dialect;
  }

  async create(body: NewOrder): Promise<Order> {
    const order = {
      id: newId(),
      items: body.items.map(({ productId, quantity }) => ({ productId, quantity })),
      createdAt: isoNow(),
    };
    const rows = JSON.stringify(
      order.items.map(({ productId, quantity }, position) => ({ position, productId, quantity })),
    );
    await this.#insert([order.id, this.#context.requestId, order.createdAt], rows);
    return order;
  }

  async #insert(order: readonly [id: string, requestId: string, createdAt: string], rows: string): Promise<void> {
    if (this.#dialect.writesInWith) {
      await this.#connection.query(INSERT_ORDER_AND_ITEMS[this.#dialect.name], [...order, rows]);
      return;
    }
    await this.#connection.query(INSERT_ORDER, order);
    await this.#connection.query(INSERT_ITEMS[this.#dialect.name], [order[0], rows]);
  }
}

export const orderFeature = feature(
  'orders',
  {
    IOrderRepository: of('transaction', OrderRepository, [
      'IConnection',
      'IRequestContext',
      'ISqlDialect',
    ]).as<IOrderRepository>(),
    IInventoryService: of('transaction', InventoryService, [
      'IConnection',
      'IRequestContext',
      'ISqlDialect',
    ]).as<IInventoryService>(),
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

/** The order as an idempotent request, if it has a key. */
export function idempotentOrder(key: KeyHeader, { items }: NewOrder): IdempotentRequest | undefined {
  if (key === undefined) return undefined;
  const input = items.map(({ productId, quantity }) => [productId, quantity]);
  return idempotentRequest(key, 'POST /api/orders', input);
}

/** Called before a connection is acquired, so that a second request under a locked key never needs one. */
export function lockKey(request: IContainer, idempotent: IdempotentRequest | undefined): void {
  if (idempotent) request.resolve('IKeyLock').acquire(idempotent.key);
}

/** Stores the order, its stock and its key in the transaction of the given scope. */
export async function placeOrder(
  transaction: IContainer,
  idempotent: IdempotentRequest | undefined,
  body: NewOrder,
): Promise<ReplayableResponse<Order>> {
  const orders = transaction.resolve('IOrderRepository');
  const inventory = transaction.resolve('IInventoryService');
  const place = async (): Promise<Order> => {
    const order = await orders.create(body);
    await inventory.reserve(order.items);
    return order;
  };
  if (idempotent) return transaction.resolve('IResponseStore').respond(idempotent, 201, place);
  return { status: 201, headers: {}, body: await place(), replayed: false };
}
