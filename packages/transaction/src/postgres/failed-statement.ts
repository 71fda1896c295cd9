import type { TransactionError } from '../core/errors.js';
import { sqlStateOf } from '../core/sql-state.js';
import {
  hangsUp,
  isReadOnlyRefusal,
  isStale,
  readOnlyRefusal,
  schemaChanged,
  staleStatement,
  translated,
} from './errors.js';
import type { Statement } from './statement.js';

interface Circumstances {
  /** The connection broke. */
  readonly isDead: boolean;
  /** The caller asked for a connection to read with. */
  readonly forReading: boolean;
}

interface FailedStatement {
  readonly failure: TransactionError;
  /** The connection must not be used again. */
  readonly isBroken: boolean;
  /** The prepared statement must be prepared again. */
  readonly isStale: boolean;
}

/** What the error of the driver means for the caller, the connection and the prepared statement. */
export function readFailure(error: unknown, statement: Statement, circumstances: Circumstances): FailedStatement {
  if (isStale(error, statement)) return { failure: staleStatement(error), isBroken: false, isStale: true };
  const { isDead, forReading } = circumstances;
  if (isReadOnlyRefusal(error) && !forReading) {
    return { failure: readOnlyRefusal(error), isBroken: true, isStale: false };
  }
  // Without an SQLSTATE it is the driver's: a value that it cannot send comes too late for what was sent before it.
  const isOfTheServer = sqlStateOf(error) !== undefined;
  const isBroken = isDead || !isOfTheServer || hangsUp(error) || schemaChanged(error, statement);
  return { failure: translated(error, isDead), isBroken, isStale: false };
}
