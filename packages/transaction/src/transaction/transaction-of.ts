import type { IContainer } from '@ambit/container';
import { systemClock } from '../clock.js';
import { TransactionError, warn } from '../errors.js';
import { checkFunction, type DatabaseKeys, MAIN_DATABASE } from '../options.js';
import { type AfterCommitOptions, callAndReport } from './callbacks.js';
import { isOutsideOf, withinRun } from './savepoint.js';
import { disposeAfter } from './scope-disposal.js';
import type { Transaction, TransactionState } from './transaction.js';

/** The same symbol in every copy of this package, so that copies in one tree find each other's transactions. */
export const TRANSACTION: unique symbol = Symbol.for('@ambit/transaction');

/** The options of a transaction scope. */
interface ScopeOptions {
  readonly tags: string[];
  readonly services: Readonly<Record<string, (scope: IContainer) => unknown>>;
}

/** One object for each key of a connection, always the same, so that scopes share what is compiled for their services. */
const SCOPE_OPTIONS = new Map<string, ScopeOptions>();

function scopeOptionsOf(key: string): ScopeOptions {
  const known = SCOPE_OPTIONS.get(key);
  if (known) return known;
  const connection = (scope: OfTransaction): unknown => scope[TRANSACTION]?.connection;
  const options = { tags: ['transaction'], services: { [key]: connection as (scope: IContainer) => unknown } };
  SCOPE_OPTIONS.set(key, options);
  return options;
}

/** Opens the scope of a transaction that is about to begin; {@link enterScope} completes it. */
export function openScope(parent: IContainer, key: string): IContainer {
  return parent.createScope(scopeOptionsOf(key));
}

/** The scope knows its transaction, and delivers the connection. */
export function enterScope(transaction: Transaction, key: string): void {
  const scope: IContainer & OfTransaction & { readonly services?: unknown } = transaction.scope;
  scope[TRANSACTION] = transaction;
  // Other containers take the tags alone.
  if (scope.services !== scopeOptionsOf(key).services) scope.register(key, () => transaction.connection);
}

/** A transaction scope, or its `IConnection`. */
interface OfTransaction {
  [TRANSACTION]?: Transaction;
}

/** `IContainer` does not require `parent`. */
type Scope = OfTransaction & { readonly parent?: unknown };

/**
 * The transaction that `scope` is in, open or completed: its own, or that of an ancestor. It is found while the scope is
 * disposed and after that, too; for a scope below it in a container without a `parent` property, only before.
 *
 * For a scope that is in none, such as that of a request: the transaction that began in it, until its `commit()` or
 * `rollback()` resolves; but within a `not-supported` run none that was open before the run.
 *
 * @param scope - any scope
 * @param options - which of several databases, by the key of its connection. Default: the main one, `IConnection`.
 * @returns the transaction, or undefined where the scope is in none on that database, and none is open that began in it
 * @throws `TransactionError` `AMBIT_TX_ALREADY_OPEN`: several are open that began in the scope
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { transactionOf } from '@ambit/transaction';
 *
 * function notifyAfterCommit(scope: IContainer, notify: () => void): void {
 *   scope.defer?.(() => {
 *     if (transactionOf(scope)?.state === 'committed') notify();
 *   });
 * }
 * ```
 */
export function transactionOf(
  scope: IContainer,
  { connection = MAIN_DATABASE.connection }: Pick<DatabaseKeys, 'connection'> = {},
): Transaction | undefined {
  return transactionAround(scope, connection) ?? (begunIn(scope, connection) as Transaction | undefined);
}

const WITHOUT_TRANSACTION = { clock: systemClock, endTimeoutMs: 10_000, onError: warn };

/**
 * For code that knows only its scope: calls `fn` when the transaction of the scope has committed, like its `afterCommit()`.
 * The scope may also be the one that the transaction began in, such as that of a request. Where there is no such transaction,
 * what was written is stored already, and `fn` is called at once; so it is in a `not-supported` run, whatever is open around it.
 * Where a host has begun one for the request and it was rolled back, `fn` is refused.
 *
 * @param scope - the scope that the work is done in; undefined, such as `currentScope(undefined)` may be, is outside of every transaction
 * @param fn - its failure goes to `onError` of the transaction, or without one to a process warning, and never to the caller
 * @param options - whether the commit waits for it, and which of several databases it is about, by the key of its connection
 * @throws `TransactionError` `AMBIT_TX_FINISHED`: the transaction has been rolled back, or its outcome is unknown
 * @throws `TransactionError` `AMBIT_TX_ALREADY_OPEN`: the scope is in no transaction, and several are open that began in it
 * @throws `TransactionError` `AMBIT_TX_NESTED`: code outside of the nested run in progress registers it
 * @throws `TransactionError` `AMBIT_TX_VERSION`: an older copy of this package has begun the transaction
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option, or `fn` is no function
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { afterCommit, type IConnection } from '@ambit/transaction';
 *
 * declare const mailer: { send(template: string, to: string): Promise<void> };
 *
 * async function register(scope: IContainer, email: string): Promise<void> {
 *   await scope.resolve<IConnection>('IConnection').query('INSERT INTO users (email) VALUES ($1)', [email]);
 *   afterCommit(scope, () => mailer.send('welcome', email));
 * }
 * ```
 */
export function afterCommit(
  scope: IContainer | undefined,
  fn: () => unknown,
  options: AfterCommitOptions & Pick<DatabaseKeys, 'connection'> = {},
): void {
  checkFunction('The callback', fn, { required: true });
  const { connection = MAIN_DATABASE.connection } = options;
  const transaction = scope && (transactionOf(scope, options) ?? transactionOfAllWork(scope, connection));
  if (transaction) return requireMember(transaction, 'afterCommit').afterCommit(fn, options);
  const calling = callAndReport(fn, WITHOUT_TRANSACTION);
  if (calling && scope) disposeAfter(calling, scope);
}

/**
 * The transaction that the scope is in, and not one that began in it. With a pool also one that a transaction on this database
 * would wait for: it is on the same pool.
 */
export function transactionAround(scope: IContainer, connection: string, pool?: string): Transaction | undefined {
  for (let at: Scope | undefined = scope as Scope; at; at = at.parent as Scope | undefined) {
    const transaction = at[TRANSACTION];
    if (transaction && isOn(transaction, { connection, pool })) return transaction;
  }
  return 'parent' in scope ? undefined : transactionOfConnection(scope, connection);
}

function isOn(
  transaction: Pick<BegunTransaction, 'settings'>,
  keys: { connection: string; pool?: string | undefined },
): boolean {
  const { connection, pool } = transaction.settings.database;
  return connection === keys.connection || pool === keys.pool;
}

function transactionOfConnection(scope: IContainer, key: string): Transaction | undefined {
  // Cheaper than the error of resolve(), but a container need not have it.
  if (scope.has?.(key) === false) return undefined;
  try {
    return scope.resolve<OfTransaction | undefined>(key)?.[TRANSACTION];
  } catch {
    return undefined;
  }
}

/** Another copy of this package may have begun the transaction, and may be older. */
export function requireMember(transaction: Transaction, name: keyof Transaction & string): Transaction {
  if (name in transaction) return transaction;
  const what = `The transaction was begun by an older copy of @ambit/transaction, which has no ${name}`;
  throw new TransactionError('AMBIT_TX_VERSION', what);
}

/** A transaction as the scope that it began in knows it. */
interface BegunTransaction {
  readonly parent: IContainer;
  readonly scope: IContainer;
  readonly state: TransactionState;
  readonly settings: { readonly database: { readonly connection: string; readonly pool: string } };
  readonly guardsParent?: boolean;
  /** Set once it can only roll back. */
  readonly error?: unknown;
  begunBefore: BegunTransaction | undefined;
}

/** All copies of this package share it, so that copies in one tree find each other's transactions. */
const BEGUN: unique symbol = Symbol.for('@ambit/transaction.begun');

/** All copies of this package share it, too. */
const LOST: unique symbol = Symbol.for('@ambit/transaction.lost');

interface Parent {
  /** The newest of the transactions that began in the scope and have not completed; each has the one before it. */
  [BEGUN]?: BegunTransaction | undefined;
  /** Transactions that guarded this scope and did not commit, newest first. */
  [LOST]?: BegunTransaction | undefined;
}

/** Makes a transaction known to the scope that it begins in, until {@link removeBegun}. */
export function addBegun(transaction: BegunTransaction): void {
  const parent = transaction.parent as Parent;
  transaction.begunBefore = parent[BEGUN];
  parent[BEGUN] = transaction;
}

export function removeBegun(transaction: BegunTransaction): void {
  const parent = transaction.parent as Parent;
  let at = parent[BEGUN];
  if (at === transaction) parent[BEGUN] = transaction.begunBefore;
  else {
    while (at && at.begunBefore !== transaction) at = at.begunBefore;
    if (at) at.begunBefore = transaction.begunBefore;
  }
  if (!transaction.guardsParent || transaction.state === 'committed') return;
  transaction.begunBefore = parent[LOST];
  parent[LOST] = transaction;
}

/**
 * The transaction that all work of the scope, or of one around it, belongs to. Also once it was rolled back: nobody stores
 * what such work has done.
 */
function transactionOfAllWork(scope: IContainer, connection: string): Transaction | undefined {
  const isMeant = (transaction: BegunTransaction): boolean =>
    Boolean(transaction.guardsParent && isOn(transaction, { connection }) && !isOutsideOf(transaction));
  for (let at: unknown = scope; at; at = (at as Scope).parent) {
    const { [BEGUN]: begun, [LOST]: lost } = at as Parent;
    const found = findBegun(begun, isMeant) ?? findBegun(lost, isMeant);
    if (found) return found as Transaction;
  }
  return undefined;
}

function findBegun(
  newest: BegunTransaction | undefined,
  isMeant: (transaction: BegunTransaction) => boolean,
): BegunTransaction | undefined {
  let at = newest;
  while (at && !isMeant(at)) at = at.begunBefore;
  return at;
}

/** The transaction on this database that began in the scope and has not completed. Throws where several are open. */
function begunIn(scope: IContainer, connection: string): BegunTransaction | undefined {
  if (!(scope as Parent)[BEGUN]) return undefined;
  const all = allBegunIn(scope, connection).filter((transaction) => !isOutsideOf(transaction));
  // Others have committed or rolled back, and their callbacks are being called.
  const open = all.filter(isOpen);
  if (open.length < 2) return open[0] ?? all[0];
  const what = `${open.length} transactions are open that began in the scope, so it does not say which one is meant`;
  throw new TransactionError('AMBIT_TX_ALREADY_OPEN', what);
}

/** It has not completed, also where BEGIN was not sent yet. */
export function isOpen(transaction: { readonly state: TransactionState } | undefined): boolean {
  return transaction?.state === 'acquired' || transaction?.state === 'open';
}

/** Runs `work` as no part of the transactions on this database that began in the scope. */
export async function runOutside<T>(scope: IContainer, connection: string, work: () => Promise<T>): Promise<T> {
  const run = { isOver: false, outsideOf: allBegunIn(scope, connection) };
  try {
    return await withinRun(run, work);
  } finally {
    run.isOver = true;
  }
}

/**
 * Refuses a run that would begin a second transaction in silence: the scope, or one around it, is that of a request whose
 * transaction is open. On every host an error handler may begin one while that of its request is being rolled back.
 */
export function refuseBesideGuard(scope: IContainer, keys: Required<DatabaseKeys>): void {
  const refuses = (begun: BegunTransaction): boolean =>
    Boolean(begun.guardsParent && isOpen(begun) && !begun.error && isOn(begun, keys) && !isOutsideOf(begun));
  for (let at: unknown = scope; at; at = (at as Scope).parent) {
    if (findBegun((at as Parent)[BEGUN], refuses)) throw besideGuard();
  }
}

function besideGuard(): TransactionError {
  const what =
    'A run was started in the scope of a request whose transaction is open, and not in the scope of that transaction: it would begin a second one, which commits by itself';
  return new TransactionError('AMBIT_TX_ALREADY_OPEN', what);
}

/** Includes transactions on other databases that began inside these. */
function allBegunIn(scope: IContainer, connection: string): BegunTransaction[] {
  const found: BegunTransaction[] = [];
  for (let at = (scope as Parent)[BEGUN]; at; at = at.begunBefore) {
    if (at.settings.database.connection === connection) found.push(at);
    found.push(...allBegunIn(at.scope, connection));
  }
  return found;
}
