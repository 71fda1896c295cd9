import { inject } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import type { IRequestContext } from '../audit/request-context.js';
import { type ISqlDialect, statement } from '../database/dialect.js';
import { newId } from '../ids.js';
import { isoNow } from '../iso-now.js';
import type { NewOrder, Order } from './order.js';

export interface IOrderRepository {
  create(body: NewOrder): Promise<Order>;
}

const insertItems = statement(
  ({ elements }) =>
    `INSERT INTO order_items (order_id, position, product_id, quantity)
     SELECT CAST($1 AS text), CAST(item.value ->> 'position' AS integer), item.value ->> 'productId',
            CAST(item.value ->> 'quantity' AS integer)
     FROM ${elements('$2')} AS item`,
);

export class OrderRepository implements IOrderRepository {
  readonly #connection: IConnection;
  readonly #context: IRequestContext;
  readonly #dialect: ISqlDialect;

  constructor(
    @inject('IConnection') connection: IConnection,
    @inject('IRequestContext') context: IRequestContext,
    @inject('ISqlDialect') dialect: ISqlDialect,
  ) {
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
    await this.#connection.query('INSERT INTO orders (id, request_id, created_at) VALUES ($1, $2, $3)', [
      order.id,
      this.#context.requestId,
      order.createdAt,
    ]);
    await this.#connection.query(insertItems(this.#dialect), [
      order.id,
      JSON.stringify(order.items.map(({ productId, quantity }, position) => ({ position, productId, quantity }))),
    ]);
    return order;
  }
}
