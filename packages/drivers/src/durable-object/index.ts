import type { DatabasePool } from '@ambit/transaction';
import { type DriverPoolOptions, type DurableObjectStorage, durableObjectPoolOver } from '@ambit/transaction/extension';

export type { DriverPoolOptions, DurableObjectStorage } from '@ambit/transaction/extension';

/**
 * A pool over the SQLite of a Durable Object: one connection, handed out in turn.
 *
 * @param storage - `ctx.storage` of the object, whose class has SQLite
 * @param options - who may wait for the connection, and for how long
 * @returns a pool with the guarantees of docs/guides/workers.md
 * @throws `TransactionError` `AMBIT_TX_UNSUPPORTED`: it has no transactions, as D1
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { type DurableObjectStorage, fromDurableObject } from '@ambit/drivers/durable-object';
 *
 * // storage is ctx.storage of the Durable Object.
 * const poolOver = (storage: DurableObjectStorage) => fromDurableObject(storage);
 * ```
 */
export function fromDurableObject(storage: DurableObjectStorage, options: DriverPoolOptions = {}): DatabasePool {
  return durableObjectPoolOver(storage, options);
}
