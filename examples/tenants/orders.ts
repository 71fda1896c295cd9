import type { IConnection, IDatabasePool } from '@ambit/transaction';

/** A request that is refused on purpose. */
export class ShopError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The client chooses the id, so an order that is sent again, such as after a 503, is placed once. */
export interface Order {
  readonly id: string;
  readonly product: string;
  readonly quantity: number;
}

/** The orders of one tenant. Nothing here knows that there are several. */
export class Orders {
  readonly #database: IConnection | IDatabasePool;

  constructor(database: IConnection | IDatabasePool) {
    this.#database = database;
  }

  async place({ id, product, quantity }: Order): Promise<void> {
    const placed = await this.#database.query(
      'INSERT INTO orders (id, product, quantity) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id',
      [id, product, quantity],
    );
    if (placed.length === 0) return;
    const taken = await this.#database.query(
      'UPDATE stock SET level = level - $2 WHERE product = $1 AND level >= $2 RETURNING level',
      [product, quantity],
    );
    if (taken.length === 0) throw new ShopError(409, `There is not enough of ${product}`);
  }

  async find(id: string): Promise<Order> {
    const [order] = await this.#database.query<{ id: string; product: string; quantity: number }>(
      'SELECT id, product, quantity FROM orders WHERE id = $1',
      [id],
    );
    if (!order) throw new ShopError(404, `There is no order ${id}`);
    return order;
  }
}

/** Also what Fastify checks a body with. */
export const ORDER_SCHEMA = {
  type: 'object',
  required: ['id', 'product', 'quantity'],
  properties: {
    id: { type: 'string', minLength: 1 },
    product: { type: 'string', minLength: 1 },
    quantity: { type: 'integer', minimum: 1, maximum: 1000 },
  },
} as const;

export function readOrder(body: unknown): Order {
  const { id, product, quantity } = (body ?? {}) as Record<string, unknown>;
  const isValid =
    typeof id === 'string' &&
    id !== '' &&
    typeof product === 'string' &&
    Number.isInteger(quantity) &&
    Number(quantity) > 0;
  if (!isValid) throw new ShopError(400, 'An order has an id, a product and a quantity');
  return { id, product, quantity: Number(quantity) };
}
