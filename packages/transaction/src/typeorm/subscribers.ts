import type { QueryRunner } from 'typeorm';
import type { Transaction } from '../transaction/transaction.js';

/** TypeORM's subscribers hear of the whole transaction, once: a nested one may be undone by the transaction around it. */
export function announceOutcome(transaction: Transaction, { broadcaster }: QueryRunner): void {
  transaction.onWhole('beforeCommit', () => broadcaster.broadcast('BeforeTransactionCommit'));
  transaction.onWhole('afterCommit', () => broadcaster.broadcast('AfterTransactionCommit'));
  transaction.onWhole('afterRollback', () => broadcaster.broadcast('AfterTransactionRollback'));
}
