import type { IContainer } from '@ambit/container';
import { TransactionError } from '../core/errors.js';
import type { TransactionState } from './outcome.js';

/** What a scope knows of a transaction that began in it. */
interface BegunTransaction {
  readonly parent: IContainer;
  readonly scope: IContainer;
  readonly state: TransactionState;
  readonly settings: { readonly database: { readonly connection: string } };
  begunBefore: BegunTransaction | undefined;
}

/** The same symbol in every copy of this package, so that copies in one tree find each other's transactions. */
const BEGUN: unique symbol = Symbol.for('@ambit/transaction.begun');

interface Parent {
  /** The newest of the transactions that began in the scope and have not completed; each has the one before it. */
  [BEGUN]?: BegunTransaction | undefined;
}

/** Makes a transaction known to the scope that it begins in, until {@link removeBegun}. */
export function addBegun(transaction: BegunTransaction): void {
  const parent = transaction.parent as Parent;
  transaction.begunBefore = parent[BEGUN];
  parent[BEGUN] = transaction;
}

/** The transaction has completed. */
export function removeBegun(transaction: BegunTransaction): void {
  const parent = transaction.parent as Parent;
  let at = parent[BEGUN];
  if (at === transaction) return void (parent[BEGUN] = transaction.begunBefore);
  while (at && at.begunBefore !== transaction) at = at.begunBefore;
  if (at) at.begunBefore = transaction.begunBefore;
}

/** The transaction on this database that began in the scope and has not completed. Throws where several are open. */
export function begunIn(scope: IContainer, connection: string): BegunTransaction | undefined {
  if (!(scope as Parent)[BEGUN]) return undefined;
  const all = allBegunIn(scope, connection);
  // Others have committed or rolled back, and their callbacks are being called.
  const open = all.filter(({ state }) => state === 'acquired' || state === 'open');
  if (open.length < 2) return open[0] ?? all[0];
  const what = `${open.length} transactions are open that began in the scope, so it does not say which one is meant`;
  throw new TransactionError('AMBIT_TX_AMBIGUOUS', what);
}

/** Also those that began within these: on another database. */
function allBegunIn(scope: IContainer, connection: string): BegunTransaction[] {
  const found: BegunTransaction[] = [];
  for (let at = (scope as Parent)[BEGUN]; at; at = at.begunBefore) {
    if (at.settings.database.connection === connection) found.push(at);
    found.push(...allBegunIn(at.scope, connection));
  }
  return found;
}
