import { readReplicatedOptions, type ReplicatedPoolOptions } from './options.js';
import { ReplicatedPool } from './replicated-pool.js';

export type { ReplicatedPoolOptions } from './options.js';
export type { ReadSource, ReplicaSession, ReplicatedPool } from './replicated-pool.js';

/**
 * A pool over a PostgreSQL primary and its hot standbys. What is read with `readOnly: true` comes from a replica that has
 * replayed what the session has written, and from the primary where there is none: nobody waits for a replica.
 *
 * @param options - the pools of the servers, which the new pool closes, and when a replica serves no reads
 * @returns a pool to register as `IDatabasePool`, or to make a session of for each request
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option, or a server without a pool
 *
 * @example
 * ```ts
 * import { createPostgresPool } from '@ambit/transaction/postgres';
 * import { createReplicatedPool } from '@ambit/transaction/replicas';
 *
 * const pool = createReplicatedPool({
 *   primary: createPostgresPool({ connectionString: 'postgres://primary/shop' }),
 *   replicas: [createPostgresPool({ host: 'replica', database: 'shop', targetSessionAttrs: 'prefer-standby' })],
 *   maxLagMs: 5000,
 * });
 *
 * async function countOrders(): Promise<unknown> {
 *   const [row] = await pool.query('SELECT count(*) AS orders FROM orders', [], { readOnly: true });
 *   return row?.['orders'];
 * }
 * ```
 */
export function createReplicatedPool(options: ReplicatedPoolOptions): ReplicatedPool {
  return new ReplicatedPool(readReplicatedOptions(options));
}
