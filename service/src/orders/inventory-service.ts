import type { IConnection } from '@ambit/transaction';
import type { IRequestContext } from '../audit.js';
import type { ISqlDialect } from '../database/dialect.js';
import { Problem } from '../problem.js';
import type { OrderItem } from './order.js';
import { RECORD, SELECT_LEVELS, TAKE, TAKE_AND_RECORD } from './stock-statements.js';

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
  readonly #connection: IConnection;
  readonly #context: IRequestContext;
  readonly #dialect: ISqlDialect;

  constructor(connection: IConnection, context: IRequestContext, dialect: ISqlDialect) {
    this.#connection = connection;
    this.#context = context;
    this.#dialect = dialect;
  }

  async reserve(items: readonly OrderItem[]): Promise<void> {
    const wanted = totals(items);
    const rows = JSON.stringify([...wanted.values()]);
    const { requestId } = this.#context;
    if (this.#dialect.writesInWith) {
      refuseShortage(wanted, await this.#query(TAKE_AND_RECORD, [requestId, rows]));
      return;
    }
    const levels = await this.#query(SELECT_LEVELS, [rows]);
    refuseShortage(wanted, levels);
    if (levels.length > 0) await this.#query(TAKE, [rows]);
    await this.#query(RECORD, [requestId, rows]);
  }

  #query(statement: Readonly<Record<ISqlDialect['name'], string>>, params: readonly unknown[]): Promise<StockLevel[]> {
    return this.#connection.query<StockLevel>(statement[this.#dialect.name], params);
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
