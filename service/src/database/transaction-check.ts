import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import type { Config } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';

/** No request of the service holds a transaction for so long without a statement, even on a machine that is busy. */
const GAP_MS = 1000;

/** Checks the use of transactions where `TRANSACTION_CHECK` asks for it; otherwise it does nothing. */
export function createTransactionCheck({ transactionCheck: mode }: Config, logger: ILogger): TransactionCheck {
  return transactionCheck({
    enabled: mode !== 'off',
    mode: mode === 'throw' ? 'throw' : 'report',
    gapMs: GAP_MS,
    report: ({ message: msg, ...finding }) => logger.warn({ msg, finding }),
  });
}
