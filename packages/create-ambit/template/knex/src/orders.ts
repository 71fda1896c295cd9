import type { Knex } from 'knex';
import { type NewOrder, type Order, Refusal } from './order.ts';

/** The orders and the stock. It need not know whether it is in a transaction: the graph gives it the right `db`. */
export class Orders {
  readonly #db: Knex;

  constructor(db: Knex) {
    this.#db = db;
  }

  /** The latest orders. */
  async latest(): Promise<Order[]> {
    return this.#db('orders').select('id', 'product', 'quantity').orderBy('id', 'desc').limit(100);
  }

  /** Stores an order and takes it from the stock. Both or neither: call it in a transaction. */
  async place({ product, quantity }: NewOrder): Promise<Order> {
    const [order] = await this.#db('orders').insert({ product, quantity }).returning(['id', 'product', 'quantity']);
    const taken = await this.#db('stock')
      .where({ product })
      .where('level', '>=', quantity)
      .decrement('level', quantity);
    if (!order || taken === 0) throw new Refusal(409, `There is not enough ${product} in stock`);
    return order;
  }
}
