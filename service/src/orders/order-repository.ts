import type { IConnection } from '@ambit/transaction';
import type { IRequestContext } from '../audit.js';
import { type ISqlDialect, sqlFor } from '../database/dialect.js';
import { newId } from '../ids.js';
import { isoNow } from '../iso-now.js';
import type { NewOrder, Order } from './order.js';

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
