/** For authors of hosts and of telemetry: how a request's transaction begins, what its errors are, and statements without values. */
export { TRANSACTION_ERROR_CODES } from '../core/errors.js';
export { publishResponse } from '../core/events.js';
export { isUnavailable } from '../core/sql-state.js';
export { type Placeholders, withoutLiterals } from '../sql/without-literals.js';
export { beginTransaction, inOwnContext, TransactionSettings, TransactionStart } from '../transaction/start.js';
