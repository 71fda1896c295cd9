import { isTransactionError } from '../core/errors.js';

/** ORMs read the code, the constraint and the detail of a refused statement from the error of the driver. */
export function driverErrorOf(error: unknown): unknown {
  const isRefused = isTransactionError(error) && error.code === 'AMBIT_TX_STATEMENT_FAILED';
  return isRefused ? (error.cause ?? error) : error;
}
