import { inject } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import type { IRequestContext } from '../audit/request-context.js';
import { type ISqlDialect, statement } from '../database/dialect.js';
import { Problem } from '../problem.js';
import type { OrderItem } from './order.js';

export interface IInventoryService {
  /** Takes the items from stock, all or none. A product without a stock level is not tracked, only recorded. */
  reserve(items: readonly OrderItem[]): Promise<void>;
}

interface StockLevel {
  readonly product_id: string;
  readonly level: number;
}

/** In one fixed order, so that two orders over the same products never wait for each other in a circle. */
const lockLevels = statement(
  ({ elements, forUpdate }) =>
    `SELECT product_id, level FROM stock
     WHERE product_id IN (SELECT item.value ->> 'productId' FROM ${elements('$1')} AS item)
     ORDER BY product_id ${forUpdate}`,
);

const takeFromStock = statement(
  ({ elements }) =>
    `UPDATE stock SET level = level - CAST(item.value ->> 'quantity' AS integer)
     FROM ${elements('$1')} AS item WHERE product_id = item.value ->> 'productId'`,
);

const insertReservations = statement(
  ({ elements }) =>
    `INSERT INTO reservations (request_id, product_id, quantity)
     SELECT CAST($1 AS text), item.value ->> 'productId', CAST(item.value ->> 'quantity' AS bigint)
     FROM ${elements('$2')} AS item`,
);

export class InventoryService implements IInventoryService {
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

  async reserve(items: readonly OrderItem[]): Promise<void> {
    const wanted = totals(items);
    const rows = JSON.stringify([...wanted.values()]);
    const levels = await this.#lockLevels(rows);
    const left = new Map(levels.map(({ product_id, level }) => [product_id, level]));
    // In the order of the items: which row comes first is each database's own matter.
    for (const { productId, quantity } of wanted.values()) {
      const level = left.get(productId) ?? quantity;
      if (level >= quantity) continue;
      throw new Problem(409, `Not enough stock of ${JSON.stringify(productId)}: ${quantity} wanted, ${level} left`);
    }
    // Of the others a level may have been set since; then it was not looked at.
    const tracked = levels.map(({ product_id }) => wanted.get(product_id));
    if (tracked.length > 0) await this.#take(tracked.length === wanted.size ? rows : JSON.stringify(tracked));
    await this.#record(rows);
  }

  #lockLevels(rows: string): Promise<StockLevel[]> {
    return this.#connection.query<StockLevel>(lockLevels(this.#dialect), [rows]);
  }

  #take(rows: string): Promise<unknown> {
    return this.#connection.query(takeFromStock(this.#dialect), [rows]);
  }

  #record(rows: string): Promise<unknown> {
    return this.#connection.query(insertReservations(this.#dialect), [this.#context.requestId, rows]);
  }
}

/** The same product may be ordered twice; it is taken from stock once. */
function totals(items: readonly OrderItem[]): Map<string, OrderItem> {
  const wanted = new Map<string, OrderItem>();
  for (const { productId, quantity } of items) {
    const before = wanted.get(productId)?.quantity ?? 0;
    wanted.set(productId, { productId, quantity: before + quantity });
  }
  return wanted;
}
