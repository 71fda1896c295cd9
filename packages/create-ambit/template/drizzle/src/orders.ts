import { and, desc, eq, gte, sql } from 'drizzle-orm';
import { type Db, orders, stock } from './db.ts';
import { type NewOrder, type Order, Refusal } from './order.ts';

/** The orders and the stock. It need not know whether it is in a transaction: the graph gives it the right `db`. */
export class Orders {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** The latest orders. */
  async latest(): Promise<Order[]> {
    return this.#db.select().from(orders).orderBy(desc(orders.id)).limit(100);
  }

  /** Stores an order and takes it from the stock. Both or neither: call it in a transaction. */
  async place({ product, quantity }: NewOrder): Promise<Order> {
    const [order] = await this.#db.insert(orders).values({ product, quantity }).returning();
    const [taken] = await this.#db
      .update(stock)
      .set({ level: sql`${stock.level} - ${quantity}` })
      .where(and(eq(stock.product, product), gte(stock.level, quantity)))
      .returning();
    if (!order || !taken) throw new Refusal(409, `There is not enough ${product} in stock`);
    return order;
  }
}
