import { noCaughtFailureInTransaction } from './no-caught-failure-in-transaction.js';
import { noCradleAsDependency } from './no-cradle-as-dependency.js';
import { noEffectsInTransaction } from './no-effects-in-transaction.js';
import { noParallelQueriesInTransaction } from './no-parallel-queries-in-transaction.js';
import { noPoolInTransaction } from './no-pool-in-transaction.js';
import { noResponseBeforeCommit } from './no-response-before-commit.js';
import { noSharedRequestData } from './no-shared-request-data.js';
import { noSharedTransaction } from './no-shared-transaction.js';
import { noTransactionOnPool } from './no-transaction-on-pool.js';
import { restoreOuterTransaction } from './restore-outer-transaction.js';
import type { Check } from './rule.js';

export const checks: readonly Check[] = [
  noTransactionOnPool,
  noSharedTransaction,
  restoreOuterTransaction,
  noSharedRequestData,
  noPoolInTransaction,
  noParallelQueriesInTransaction,
  noResponseBeforeCommit,
  noEffectsInTransaction,
  noCaughtFailureInTransaction,
  noCradleAsDependency,
];
