import { TransactionError } from '../errors.js';

/** The server hangs up after these. 25P03: idle in transaction for too long; 08P01 is a wrong number of parameters. */
const HANGS_UP = /^(?:08(?!P01)|57P|25P03)/;
/** What PgBouncer takes its leave with, whatever the reason; PostgreSQL says it of a wrong number of parameters, and stays. */
const PROTOCOL_VIOLATION = '08P01';
/** As the last word of a server that hangs up they are true all the same: it stopped, waited in vain, or its standby was in the way. */
const TRUE_AT_THE_END = /^(?:57P|25P03|40001)/;
/** The connection's prepared statements no longer fit the server's: cached plan, unknown or doubled name. */
const STALE_STATEMENT = new Set(['0A000', '26000', '42P05']);

interface DriverError {
  readonly code?: unknown;
  readonly severity?: unknown;
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as DriverError;
  return typeof code === 'string' ? code : '';
}

function isFatal(error: unknown): boolean {
  const { severity } = (error ?? {}) as DriverError;
  return severity === 'FATAL' || severity === 'PANIC';
}

export function hangsUp(error: unknown): boolean {
  return HANGS_UP.test(codeOf(error)) || isFatal(error);
}

export function isStaleStatement(error: unknown): boolean {
  return STALE_STATEMENT.has(codeOf(error));
}

/** What the driver threw, with a code of ours, the SQLSTATE, and the driver's error as the cause. */
export function translated(error: unknown, connectionDied: boolean): TransactionError {
  if (error instanceof TransactionError) return error;
  if (!connectionDied && !hangsUp(error)) {
    return new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'PostgreSQL refused a statement', { cause: error });
  }
  // Left as it is, it would read as PostgreSQL's last word, on a COMMIT too.
  const code = codeOf(error);
  const saysTooMuch = code === PROTOCOL_VIOLATION || (isFatal(error) && !TRUE_AT_THE_END.test(code));
  const lost = saysTooMuch ? { sqlState: '08006' } : {};
  return new TransactionError('AMBIT_TX_CONNECTION_LOST', 'The connection to PostgreSQL was lost', {
    cause: error,
    ...lost,
  });
}
