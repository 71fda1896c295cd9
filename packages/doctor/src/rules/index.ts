import { noCradleAsDependency } from './no-cradle-as-dependency.js';
import { noParallelQueriesInTransaction } from './no-parallel-queries-in-transaction.js';
import { noPoolInTransaction } from './no-pool-in-transaction.js';
import { noResponseBeforeCommit } from './no-response-before-commit.js';
import { noSharedRequestData } from './no-shared-request-data.js';
import { noSharedTransaction } from './no-shared-transaction.js';
import { restoreOuterTransaction } from './restore-outer-transaction.js';
import type { Check } from './rule.js';

export const checks: readonly Check[] = [
  noSharedTransaction,
  restoreOuterTransaction,
  noSharedRequestData,
  noPoolInTransaction,
  noParallelQueriesInTransaction,
  noResponseBeforeCommit,
  noCradleAsDependency,
];
