import type { Db } from './db.ts';
import { type NewOrder, type Order, Refusal } from './order.ts';

/** The orders and the stock. It need not know whether it is in a transaction: the graph gives it the right `db`. */
export class Orders {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** The latest orders. */
  latest(): Promise<Order[]> {
    return this.#db.selectFrom('orders').selectAll().orderBy('id', 'desc').limit(100).execute();
  }

  /** Stores an order and takes it from the stock. Both or neither: call it in a transaction. */
  async place({ product, quantity }: NewOrder): Promise<Order> {
    const order = await this.#db
      .insertInto('orders')
      .values({ product, quantity })
      .returningAll()
      .executeTakeFirstOrThrow();
    const stock = await this.#db
      .updateTable('stock')
      .set((eb) => ({ level: eb('level', '-', quantity) }))
      .where('product', '=', product)
      .where('level', '>=', quantity)
      .returning('level')
      .executeTakeFirst();
    if (!stock) throw new Refusal(409, `There is not enough ${product} in stock`);
    return order;
  }
}
