import { type Clock, within } from '../core/clock.js';
import type { IPooledConnection, Row } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';

interface Limits {
  readonly clock: Clock;
  readonly replicaTimeoutMs: number;
}

const late = (): Error => new TransactionError('AMBIT_TX_TIMEOUT', 'The server took too long for a short statement');

/** One short statement, for which a server that responds needs no time. Where it takes long, its connection is not used again. */
export async function probe(
  connecting: Promise<IPooledConnection>,
  sql: string,
  { clock, replicaTimeoutMs }: Limits,
): Promise<Row[]> {
  const connection = await connecting;
  let broken = true;
  try {
    const rows = await within(clock, replicaTimeoutMs, connection.query(sql), late);
    broken = false;
    return rows;
  } finally {
    connection.release(broken);
  }
}
