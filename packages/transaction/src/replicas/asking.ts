import type { AcquireOptions, IPooledConnection } from '../core/contract.js';
import { codeOf, isRetryable } from '../core/sql-state.js';
import type { Replica } from './replica.js';

export type Ask<T> = (connection: IPooledConnection) => Promise<T>;

/** A read failed for a reason that another server does not have. */
const ELSEWHERE: ReadonlySet<string> = new Set(['AMBIT_TX_CONNECTION_LOST', 'AMBIT_TX_READ_ONLY']);
/** No other server would give a connection either. */
const NOWHERE: ReadonlySet<string> = new Set(['AMBIT_TX_ABORTED', 'AMBIT_TX_OPTION', 'AMBIT_TX_POOL_CLOSED']);

/** Undefined where another server has to be asked. */
export async function connectTo(replica: Replica, options: AcquireOptions): Promise<IPooledConnection | undefined> {
  try {
    return await replica.connect(options);
  } catch (error) {
    if (NOWHERE.has(codeOf(error))) throw error;
    replica.leaveOut();
    return undefined;
  }
}

/** Undefined where another server has to be asked. */
export async function askReplica<T extends object>(replica: Replica, ask: Ask<T>): Promise<T | undefined> {
  const connection = await connectTo(replica, {});
  if (!connection) return undefined;
  try {
    return await askAndRelease(connection, ask);
  } catch (error) {
    // What the standby replays may cancel a read, and only there.
    if (isRetryable(error)) return undefined;
    if (!ELSEWHERE.has(codeOf(error))) throw error;
    replica.leaveOut();
    return undefined;
  }
}

export async function askAndRelease<T>(connection: IPooledConnection, ask: Ask<T>): Promise<T> {
  try {
    return await ask(connection);
  } finally {
    connection.release();
  }
}
