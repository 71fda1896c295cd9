import type { IDatabasePool } from '@ambit/transaction';
import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import type { Config } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';

/** Runs statements: the pool outside a transaction, the connection within one. */
export type Queryable = Pick<IDatabasePool, 'query'>;

/** How long shutdown waits for a statement whose client was disconnected before. */
export const CLOSE_TIMEOUT_MS = 1000;
/** A statement of a migration may take longer than one of a request. */
export const MIGRATION_STATEMENT_MS = 600_000;

/** No request of the service holds a transaction for so long without a statement, even on a machine that is busy. */
const GAP_MS = 1000;

/** Checks the use of transactions where `TRANSACTION_CHECK` asks for it; otherwise it does nothing. */
export function createTransactionCheck(
  { transactionCheck: mode }: Config,
  logger: ILogger,
  gapMs = GAP_MS,
): TransactionCheck {
  return transactionCheck({
    enabled: mode !== 'off',
    mode: mode === 'throw' ? 'throw' : 'report',
    gapMs,
    report: ({ message: msg, ...finding }) => logger.warn({ msg, finding }),
  });
}
