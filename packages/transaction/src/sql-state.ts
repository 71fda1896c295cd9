/** The meaning of an error for the transaction, by its SQLSTATE; drivers of other pools put it in `code`. */
// Node's own codes of five letters (EPIPE, EBUSY) begin with E; no SQLSTATE does.
const SQLSTATE = /^(?!E)[0-9A-Z]{5}$/;
const CONFLICT = new Set(['40001', '40P01']);
/**
 * Class 08 but for 08P01, which is a wrong number of parameters; too many connections, shutting down, cannot connect now,
 * cancelled, lock not available.
 */
const TEMPORARY = /^(?:08(?!P01)|53|57|55P03)/;
/**
 * The connection, the server or the disk failed, so it is no definite response to a COMMIT; 08003 is: it was never sent. HY000 is
 * what MySQL and its proxies say of everything that has no SQLSTATE.
 */
const NOT_DEFINITE = /^(?:08(?!P01|003)|57P|58|XX|40003|HY)/;

type Field = 'name' | 'message' | 'code' | 'sqlState' | 'retryable' | 'unavailable' | 'severity' | 'cause';

/** A field of a foreign error, whose getter or proxy may throw: what is unreadable counts as missing. */
export function fieldOf(error: unknown, name: Field): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  try {
    return (error as Partial<Record<Field, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/**
 * The `code` of an error, whose getter or proxy may throw.
 *
 * @param error - whatever was thrown
 * @returns its code; an empty text where it has none, or cannot be read
 */
export function codeOf(error: unknown): string {
  const code = fieldOf(error, 'code');
  return typeof code === 'string' ? code : '';
}

/** The error and its causes, nearest first. */
function* chain(error: unknown): Generator<object> {
  let fault = error;
  for (let depth = 0; depth < 10 && typeof fault === 'object' && fault !== null; depth += 1) {
    yield fault;
    fault = fieldOf(fault, 'cause');
  }
}

/** Other libraries use the same field names for other things. Code and name also identify errors of another copy of this package. */
export function isOurs(fault: unknown): boolean {
  return codeOf(fault).startsWith('AMBIT_TX_') || fieldOf(fault, 'name') === 'TransactionError';
}

function ownSqlState(fault: object): string | undefined {
  const state = fieldOf(fault, 'sqlState') ?? fieldOf(fault, 'code');
  return typeof state === 'string' && SQLSTATE.test(state) ? state : undefined;
}

/**
 * The SQLSTATE of an error or of the nearest cause that has one: of ours in `sqlState`, of drivers in `code`.
 *
 * @param error - whatever was thrown
 * @returns five characters, such as `23505`; undefined where neither the error nor a cause has an SQLSTATE
 *
 * @example
 * ```ts
 * import { sqlStateOf } from '@ambit/transaction';
 *
 * function explain(error: unknown): string {
 *   return sqlStateOf(error) === '23505' ? 'This e-mail address is registered already' : 'Please try again later';
 * }
 * ```
 */
export function sqlStateOf(error: unknown): string | undefined {
  for (const fault of chain(error)) {
    const state = ownSqlState(fault);
    if (state !== undefined) return state;
  }
  return undefined;
}

/**
 * Tells if a retry of the whole transaction may succeed: after a serialization failure, a deadlock, or a busy database file.
 * `runInTransaction()` asks this by itself.
 *
 * @param error - whatever was thrown
 * @returns what `retryable` of the nearest `TransactionError` among the error and its causes says; for errors of drivers,
 *   whether the SQLSTATE is 40001 or 40P01
 *
 * @example
 * ```ts
 * import { type IDatabasePool, isRetryable } from '@ambit/transaction';
 *
 * async function deleteExpired(pool: IDatabasePool): Promise<void> {
 *   const work = (): Promise<unknown> => pool.query('DELETE FROM sessions WHERE expires_at < $1', [Date.now()]);
 *   await work().catch((error: unknown) => {
 *     if (!isRetryable(error)) throw error;
 *     return work();
 *   });
 * }
 * ```
 */
export function isRetryable(error: unknown): boolean {
  for (const fault of chain(error)) {
    // The nearest error of ours decides: an unknown outcome is final although its cause looks retryable.
    const retryable = fieldOf(fault, 'retryable');
    if (isOurs(fault) && typeof retryable === 'boolean') return retryable;
    const state = ownSqlState(fault);
    if (state !== undefined) return CONFLICT.has(state);
  }
  return false;
}

/**
 * Tells if the failure is temporary and not the fault of this request, so that a host responds with 503.
 *
 * @param error - whatever was thrown
 * @returns what `unavailable` of the nearest `TransactionError` among the error and its causes says; for errors of drivers,
 *   whether the SQLSTATE is that of a lost connection, missing resources, a shutdown, a cancelled statement, a lock that took too
 *   long or a conflict
 */
export function isUnavailable(error: unknown): boolean {
  for (const fault of chain(error)) {
    const unavailable = fieldOf(fault, 'unavailable');
    if (isOurs(fault) && typeof unavailable === 'boolean') return unavailable;
    const state = ownSqlState(fault);
    if (state !== undefined) return TEMPORARY.test(state) || CONFLICT.has(state);
  }
  return false;
}

/** Somebody has to correct something: the credentials, the database, a privilege, a file that is no database. */
const NEEDS_CORRECTION = /^(?:28|3D|0A|42|XX001|XX002)/;

/** The codes of Node for an address or an option that is wrong and for certificates, and of mysql2 for a server without TLS. */
const NEVER =
  /^(?:HANDSHAKE_NO_SSL_SUPPORT$|ERR_(?:INVALID|SOCKET_BAD|TLS_CERT)|CERT_|(?:DEPTH_ZERO_)?SELF_SIGNED_|UNABLE_TO_)/;

/** The message of an error that pg throws without a code. */
const NO_TLS = 'The server does not support SSL connections';

/** @internal Whether waiting cannot help. */
export function isPermanent(error: unknown): boolean {
  for (const fault of chain(error)) if (NEVER.test(codeOf(fault)) || fieldOf(fault, 'message') === NO_TLS) return true;
  return NEEDS_CORRECTION.test(sqlStateOf(error) ?? '');
}

/**
 * Tells if it may help to wait, for a program that starts: a database that is not there yet, is starting, or takes no writes
 * during a failover. False where somebody has to correct something first, such as the name of the database or the password.
 * Unlike `isUnavailable()` it looks into a connection that was not made.
 *
 * @param error - whatever was thrown
 * @returns true where a later attempt may succeed without a correction
 *
 * @example
 * ```ts
 * import { setTimeout as pause } from 'node:timers/promises';
 * import { type IDatabasePool, isTemporary } from '@ambit/transaction';
 *
 * async function whenReachable(pool: IDatabasePool, deadline: number): Promise<void> {
 *   for (;;) {
 *     try {
 *       await pool.query('SELECT 1');
 *       return;
 *     } catch (error) {
 *       if (!isTemporary(error) || Date.now() > deadline) throw error;
 *       await pause(250);
 *     }
 *   }
 * }
 * ```
 */
export function isTemporary(error: unknown): boolean {
  return isUnavailable(error) && !isPermanent(error);
}

/** True if a failed COMMIT certainly stored nothing: the database itself said so. */
export function saysNothingStored(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== undefined && !NOT_DEFINITE.test(state);
}
