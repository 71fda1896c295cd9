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
    return this.#db.query<Order>('SELECT id, product, quantity FROM orders ORDER BY id DESC LIMIT 100');
  }

  /** Stores an order and takes it from the stock. Both or neither: call it in a transaction. */
  async place({ product, quantity }: NewOrder): Promise<Order> {
    const [order] = await this.#db.query<Order>(
      'INSERT INTO orders (product, quantity) VALUES ($1, $2) RETURNING id, product, quantity',
      [product, quantity],
    );
    const [stock] = await this.#db.query(
      'UPDATE stock SET level = level - $2 WHERE product = $1 AND level >= $2 RETURNING level',
      [product, quantity],
    );
    if (!order || !stock) throw new Refusal(409, `There is not enough ${product} in stock`);
    return order;
  }
}
