import type { ReplicatedSettings } from './options.js';
import { type ReadSource, Replicas } from './replicas.js';
import { ReplicaSession, type Token } from './session.js';

/**
 * The pool that `createReplicatedPool()` makes. It is a session of its own: all that one process writes through it, it also
 * reads. A session for each request, job or user lets more reads go to the replicas.
 *
 * @example
 * ```ts
 * import type { ReplicatedPool } from '@ambit/transaction/replicas';
 *
 * // In a job, whose reads need not see what the rest of the process has just written.
 * async function countOrders(pool: ReplicatedPool): Promise<unknown> {
 *   const [row] = await pool.session().query('SELECT count(*) AS orders FROM orders', [], { readOnly: true });
 *   return row?.['orders'];
 * }
 * ```
 */
export class ReplicatedPool extends ReplicaSession implements AsyncDisposable {
  readonly #replicas: Replicas;
  #closing: Promise<void> | undefined = undefined;

  /** @internal Call `createReplicatedPool()` instead. */
  constructor(settings: ReplicatedSettings) {
    const replicas = new Replicas(settings);
    super(replicas);
    this.#replicas = replicas;
  }

  /** How many reads of all sessions came from where so far, for metrics. */
  get reads(): Readonly<Record<ReadSource, number>> {
    return this.#replicas.reads;
  }

  /**
   * A view of this pool that reads what was written through it, and before in the session that the token is of.
   *
   * @param token - the `token` of an earlier session, as the client sent it; anything else than a token is ignored
   * @returns the session, to register as `IDatabasePool` in the scope of a request; it needs no `close()`
   */
  session(token?: Token): ReplicaSession {
    return new ReplicaSession(this.#replicas, token);
  }

  /**
   * Closes the pools of all servers.
   *
   * @throws what `close()` of the first pool that failed to close throws, after all were asked to
   */
  override close(): Promise<void> {
    this.#closing ??= this.#replicas.close();
    return this.#closing;
  }

  /**
   * The same as `close()`, for `await using`.
   *
   * @throws what `close()` throws
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
