/** What an error says of the transaction, read from its SQLSTATE; drivers of other pools put it in `code`. */
// Node's own codes of five letters (EPIPE, EBUSY) begin with E; no SQLSTATE does.
const SQLSTATE = /^(?!E)[0-9A-Z]{5}$/;
const CONFLICT = new Set(['40001', '40P01']);
/** Class 08 but for 08P01, which is a wrong number of parameters; too many connections, shutting down, cannot connect now, cancelled, lock not available. */
const NOT_NOW = /^(?:08(?!P01)|53|57|55P03)/;
/** The connection, the server or the disk went, so this is no last word on a COMMIT; 08003 is: it was never sent. */
const NO_LAST_WORD = /^(?:08(?!P01|003)|57P|58|XX|40003)/;

interface Fault {
  readonly code?: unknown;
  readonly sqlState?: unknown;
  readonly retryable?: unknown;
  readonly unavailable?: unknown;
  readonly cause?: unknown;
}

/** The error and its causes, nearest first; wrapping an error hides nothing. */
function* chain(error: unknown): Generator<Fault> {
  let fault = error;
  for (let depth = 0; depth < 10 && typeof fault === 'object' && fault !== null; depth += 1) {
    yield fault;
    fault = (fault as Fault).cause;
  }
}

/** Errors of other libraries use the same words for other things. By its code also one of another copy of ours is known. */
function isOurs({ code }: Fault): boolean {
  return typeof code === 'string' && code.startsWith('AMBIT_TX_');
}

function ownSqlState({ sqlState, code }: Fault): string | undefined {
  const state = sqlState ?? code;
  return typeof state === 'string' && SQLSTATE.test(state) ? state : undefined;
}

/** The SQLSTATE of an error or of the nearest cause that has one. */
export function sqlStateOf(error: unknown): string | undefined {
  for (const fault of chain(error)) {
    const state = ownSqlState(fault);
    if (state !== undefined) return state;
  }
  return undefined;
}

/** Whether the whole transaction may be run again: serialisation failure, deadlock, or a busy database file. */
export function isRetryable(error: unknown): boolean {
  for (const fault of chain(error)) {
    // The nearest of ours has the word: an unknown outcome is final although its cause looks retryable.
    if (isOurs(fault) && typeof fault.retryable === 'boolean') return fault.retryable;
    const state = ownSqlState(fault);
    if (state !== undefined) return CONFLICT.has(state);
  }
  return false;
}

/** Whether it is a matter of now rather than of this request, so that a host answers 503. */
export function isUnavailable(error: unknown): boolean {
  for (const fault of chain(error)) {
    if (isOurs(fault) && typeof fault.unavailable === 'boolean') return fault.unavailable;
    const state = ownSqlState(fault);
    if (state !== undefined) return NOT_NOW.test(state) || CONFLICT.has(state);
  }
  return false;
}

/** Whether a failed COMMIT certainly stored nothing: the database itself said so. */
export function saysNothingStored(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== undefined && !NO_LAST_WORD.test(state);
}
