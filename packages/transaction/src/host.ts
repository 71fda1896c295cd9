/** For authors of hosts and of telemetry: how a request's transaction begins, what its errors are, and statements without values. */
export { TRANSACTION_ERROR_CODES } from './errors.js';
export { inRequestContext, publishFailure, publishResponse, type ServedRequest } from './events.js';
export { startServices } from './options.js';
export { isUnavailable } from './sql-state.js';
export { type Placeholders, withoutLiterals } from './sql/without-literals.js';
export { TransactionSettings } from './transaction/settings.js';
export { beginTransaction, inOwnContext, TransactionStart } from './transaction/start.js';
