export { type Finding, type FindingKind, TransactionCheckError } from './finding.js';
export type { Allowed, TransactionCheckOptions } from './options.js';
export type { Place } from './finding.js';
export { type TransactionCheck, transactionCheck } from './transaction-check.js';
export { unchecked } from '../events.js';
