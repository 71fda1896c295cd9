import { connectionLost, isTransactionError, refusedStatement, TransactionError } from '../core/errors.js';
import { codeOf, fieldOf, sqlStateOf } from '../core/sql-state.js';
import type { Language } from '../pool/driver.js';
import { beginStatement } from '../sql/control-statements.js';
import { leavesSessionState } from './session-state.js';

/** The server hangs up after these. 25P03: idle in transaction for too long; 08P01 is a wrong number of parameters. */
const HANGS_UP = /^(?:08(?!P01)|57P|25P03)/;
/** PgBouncer sends it before it closes a connection, whatever the reason; PostgreSQL for a wrong number of parameters. */
const PROTOCOL_VIOLATION = '08P01';
/** These are true although the server closes the connection: it stopped, timed out, or its standby was in the way. */
const TRUE_AT_THE_END = /^(?:57P|25P03|40001)/;
/** What the server had prepared no longer fits its tables, or it does not know it: a pooler led us to another server session. */
const STALE = new Set(['0A000', '26000']);
/** The server has prepared something under this name that we know nothing of. */
const NAME_TAKEN = '42P05';
/** A column, a type, an operator or a table is not what it was when the statement was prepared. */
const SCHEMA_CHANGED = new Set(['42703', '42804', '42883', '42P01']);
/** The same, where the server still expects a parameter of the old type; most often the value is wrong. */
const PARAMETER_REFUSED = new Set(['22003', '22P02']);

function isFatal(error: unknown): boolean {
  const severity = fieldOf(error, 'severity');
  return severity === 'FATAL' || severity === 'PANIC';
}

function hangsUp(error: unknown): boolean {
  return HANGS_UP.test(codeOf(error)) || isFatal(error);
}

interface Prepared {
  readonly name: string | undefined;
  /** It was run as the server had parsed it before. */
  readonly reused: boolean;
}

/** For certain: parsed again, the statement works. */
export function isStale(error: unknown, { name, reused }: Prepared): boolean {
  const code = codeOf(error);
  return name !== undefined && ((reused && STALE.has(code)) || code === NAME_TAKEN);
}

/** It parsed once, and does not any more. */
export function schemaChanged(error: unknown, { reused }: Prepared): boolean {
  return reused && SCHEMA_CHANGED.has(codeOf(error));
}

/** The statement may succeed when it is parsed again. */
export function mayBeStale(error: unknown, statement: Prepared): boolean {
  const refused = statement.reused && PARAMETER_REFUSED.has(codeOf(error));
  return refused || isStale(error, statement) || schemaChanged(error, statement);
}

export function staleStatement(cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_STALE_STATEMENT', 'A prepared statement no longer fits its tables', { cause });
}

export function isReadOnlyRefusal(error: unknown): boolean {
  return codeOf(error) === '25006';
}

export function readOnlyRefusal(cause?: unknown): TransactionError {
  const options = { sqlState: '25006', ...(cause === undefined ? {} : { cause }) };
  return new TransactionError('AMBIT_TX_READ_ONLY', 'PostgreSQL takes no writes', options);
}

/** PostgreSQL reports a commit as a success, too, when it was cancelled while it waited for a standby. */
export function unconfirmed(): TransactionError {
  return new TransactionError(
    'AMBIT_TX_OUTCOME_UNKNOWN',
    'The commit was cancelled, and may not have reached a standby',
  );
}

/** The server allows no further connection, or has no memory for one. */
export function hasNoSpace(error: unknown): boolean {
  return sqlStateOf(error)?.startsWith('53') ?? false;
}

/** Why none of the hosts gave a connection: the most specific reason decides, and all are kept. */
export function noServer(errors: readonly unknown[]): unknown {
  if (errors.length === 1) return errors[0];
  const takesNoWrites = errors.find((error) => isTransactionError(error) && error.code === 'AMBIT_TX_READ_ONLY');
  const cause = errors.find(hasNoSpace) ?? takesNoWrites ?? errors.at(-1);
  const all = new AggregateError(errors, 'None of the hosts gave a connection', { cause });
  return cause === takesNoWrites ? readOnlyRefusal(all) : all;
}

/** Why there was no connection, in our own words where the server says what has to be corrected. */
export function noConnection(cause: unknown): TransactionError {
  const why = REFUSALS[sqlStateOf(cause) ?? ''] ?? 'PostgreSQL gave no connection';
  return new TransactionError('AMBIT_TX_ACQUIRE_FAILED', why, { cause });
}

const REFUSALS: Readonly<Record<string, string>> = {
  '28000': 'PostgreSQL does not let this user in',
  '28P01': 'PostgreSQL refused the password',
  '3D000': 'PostgreSQL has no database of this name',
  '53300': 'PostgreSQL has no room for another connection',
};

/** What the driver threw, with a code of ours, the SQLSTATE, and the driver's error as the cause. */
export function translated(error: unknown, connectionDied: boolean): TransactionError {
  if (isTransactionError(error)) return error;
  if (!connectionDied && !hangsUp(error)) {
    return refusedStatement(error, sqlStateOf(error));
  }
  // Unchanged, the SQLSTATE would count as a definite response of PostgreSQL, also to a COMMIT.
  const code = codeOf(error);
  const isMisleading = code === PROTOCOL_VIOLATION || (isFatal(error) && !TRUE_AT_THE_END.test(code));
  return connectionLost(error, isMisleading ? '08006' : undefined);
}

const ISOLATION_SQL = "SELECT current_setting('transaction_isolation') AS isolation WHERE $1::text IS NOT NULL";

/** PostgreSQL, whichever driver is used. */
export const POSTGRES_LANGUAGE: Language = {
  begin: (options) => [beginStatement(options)],
  isolationSql: ISOLATION_SQL,
  leavesSessionState,
  translate: (error, { isLost }) =>
    isLost || hangsUp(error) ? translated(error, true) : refusedStatement(error, sqlStateOf(error)),
};
