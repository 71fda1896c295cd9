import type { AcquireOptions, IDatabasePool, IPooledConnection } from '../../src/index.js';
import { executeOn } from '../../src/extension.js';
import type { FakePool } from '../../src/testing/index.js';

/** The pool with another `getConnection()`, as the pools of others are made. */
export const poolWith = (pool: IDatabasePool, getConnection: IDatabasePool['getConnection']): IDatabasePool => ({
  query: (...asked) => pool.query(...asked),
  close: () => pool.close(),
  getConnection,
});

/** A connection without `execute()`, which a driver need not have. */
export const connectionWith = (
  connection: IPooledConnection,
  others: Partial<IPooledConnection>,
): IPooledConnection => ({
  beginTransaction: (options) => connection.beginTransaction(options),
  commit: () => connection.commit(),
  rollback: () => connection.rollback(),
  query: (sql, params) => connection.query(sql, params),
  release: (destroy) => connection.release(destroy),
  ...others,
});

interface ForeignPool {
  readonly pool: IDatabasePool;
  /** What a pool that guards nothing would have carried out. */
  readonly violations: readonly string[];
}

/**
 * The pool as one of others would be: its connections queue nothing, take back whatever is released, and throw the errors of
 * their driver. What the transaction must not rely on a pool to prevent is noted.
 */
export function foreignPool(fake: FakePool): ForeignPool {
  const violations: string[] = [];
  const getConnection = async (options?: AcquireOptions): Promise<IPooledConnection> =>
    observed(await fake.getConnection(options), (rule) => void violations.push(rule));
  const pool = { getConnection, query: fake.query.bind(fake), close: fake.close.bind(fake) };
  return { pool, violations };
}

function observed(connection: IPooledConnection, violate: (rule: string) => void): IPooledConnection {
  let state: 'idle' | 'open' | 'over' = 'idle';
  let inProgress = 0;
  let isReleased = false;
  let isCancelled = false;
  let lost: unknown;

  async function sent<T>(what: string, response: () => Promise<T>): Promise<T> {
    if (isReleased) violate(`${what} after release()`);
    if (inProgress > 0) violate(`${what} during another statement`);
    if (state === 'over') violate(`${what} after COMMIT or ROLLBACK`);
    if (lost !== undefined) throw lost;
    inProgress += 1;
    try {
      return await response();
    } catch (error) {
      const { code, cause = error } = error as { code?: string; cause?: unknown };
      if (code === 'AMBIT_TX_CONNECTION_LOST') lost = cause;
      throw cause;
    } finally {
      inProgress -= 1;
    }
  }
  function completed(what: 'COMMIT' | 'ROLLBACK', response: () => Promise<void>): Promise<void> {
    const completing = sent(what, response);
    state = 'over';
    return completing;
  }

  return {
    synchronous: connection.synchronous ?? false,
    beginTransaction: async (options) => {
      await sent('BEGIN', () => connection.beginTransaction(options));
      if (state === 'idle') state = 'open';
    },
    commit: () => completed('COMMIT', () => connection.commit()),
    rollback: () => completed('ROLLBACK', () => connection.rollback()),
    query: (sql, params) => sent(sql, () => connection.query(sql, params)),
    execute: (sql, params, options) => sent(sql, () => executeOn(connection, sql, params, options)),
    cancel: () => {
      isCancelled = true;
      connection.cancel?.();
    },
    release: (destroy) => {
      if (isReleased) return violate('released twice');
      isReleased = true;
      if (destroy === undefined || destroy === false) {
        if (state === 'open') violate('released while a transaction is open');
        if (inProgress > 0) violate('released during a statement');
        if (isCancelled) violate('released after a cancel request');
      }
      connection.release(destroy);
    },
  };
}
