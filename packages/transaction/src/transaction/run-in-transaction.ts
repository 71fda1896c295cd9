import type { IContainer } from '@ambit/container';
import { type Clock, startTimer } from '../clock.js';
import { meaningOf, TransactionError, type TransactionErrorCode, withCallersStack } from '../errors.js';
import { checkCount, checkOneOf, checkTime, readKeys, type TransactionOptions } from '../options.js';
import { codeOf, isRetryable } from '../sql-state.js';
import { TransactionSettings } from './settings.js';
import { inWorkContext } from '../events.js';
import { inOwnContext, TransactionStart } from './start.js';
import { isOpen, refuseBesideGuard, requireMember, runOutside, transactionAround } from './transaction-of.js';
import { onAbort, type Transaction } from './transaction.js';

/**
 * The behaviour of a run where a transaction is open already: `nested` is a savepoint of it, `required`, `supports` and `mandatory` join
 * it, `requires-new` begins a second one, `not-supported` runs outside of it, and `never` is refused. Where none is open,
 * `mandatory` is refused, `supports`, `not-supported` and `never` run without one, and the others begin one.
 */
export type Propagation = 'nested' | 'required' | 'requires-new' | 'supports' | 'not-supported' | 'mandatory' | 'never';

/** How the work is run. `outside`: as no part of a transaction that is open, in the scope that the one around it began in. */
type Way = 'begin' | 'savepoint' | 'join' | 'without' | 'outside';

const WAYS: Readonly<Record<Propagation, { readonly inside: Way | 'refuse'; readonly outside: Way | 'refuse' }>> = {
  nested: { inside: 'savepoint', outside: 'begin' },
  required: { inside: 'join', outside: 'begin' },
  'requires-new': { inside: 'begin', outside: 'begin' },
  supports: { inside: 'join', outside: 'without' },
  'not-supported': { inside: 'outside', outside: 'outside' },
  mandatory: { inside: 'join', outside: 'refuse' },
  never: { inside: 'refuse', outside: 'without' },
};

/** True if the run says that it is no part of a transaction that is open. */
function isApart(propagation: Propagation): boolean {
  return propagation === 'requires-new' || propagation === 'not-supported';
}

/** How the work is run, given the transaction around it. Throws where the propagation does not allow it. */
function wayOf(propagation: Propagation, around: Transaction | undefined): Way {
  if (!Object.hasOwn(WAYS, propagation)) checkOneOf('propagation', propagation, Object.keys(WAYS));
  // In the scope of a completed transaction only work that wants none is outside: all other work would be stored by nobody.
  const isInside = propagation === 'never' ? isOpen(around) : around !== undefined;
  const way = WAYS[propagation][isInside ? 'inside' : 'outside'];
  if (way !== 'refuse') return way;
  const where = isInside ? 'inside of an open transaction' : 'without an open transaction';
  throw new TransactionError('AMBIT_TX_ALREADY_OPEN', `A run with the propagation ${propagation} was started ${where}`);
}

/** The error of a run that got no second connection: the one that the transaction around it holds may be what others wait for. */
function whileHoldingOne(error: unknown, propagation: Propagation): unknown {
  // The pool may be of another copy of this package.
  if (meaningOf(error).fault !== 'time') return error;
  const [waited] = (error as Error).message.split('. ');
  const what = `${waited}. A ${propagation} run needs a second connection while the transaction around it holds one: where every connection is held so, the pool is in a deadlock`;
  return new TransactionError(codeOf(error) as TransactionErrorCode, what, { cause: error });
}

/** How `runInTransaction()` runs its work: the terms of the transaction, when to try again, and the propagation. */
export interface RunOptions extends TransactionOptions {
  /** The behaviour where a transaction is open already, and where none is. Default `nested`. */
  readonly propagation?: Propagation;
  /** How often to run the work again after a serialisation failure, a deadlock or a busy file. Default 3. */
  readonly retries?: number;
  /** The first pause between two attempts. It doubles up to a second, and jitter shortens it. Default 10 ms. */
  readonly backoffMs?: number;
}

/** The attempt that the work runs in. */
export interface Attempt {
  /** 1, 2, 3 ... */
  readonly number: number;
  /** Aborts once this attempt is rolled back, or its outcome is unknown; not at a failed statement. */
  readonly signal: AbortSignal;
}

/** The work of `runInTransaction()`. It is called with the scope of the transaction, and again with another one for each retry. */
export type Work<T> = (scope: IContainer, attempt: Attempt) => Promise<T>;

const LONGEST_PAUSE_MS = 1000;

/**
 * Runs `work` in a transaction: a fresh transaction scope per attempt, committed when the work resolves, rolled back
 * when it rejects, unless the work has committed or rolled back by itself. It retries only when the attempt was rolled back
 * and the database says that a retry can help (SQLSTATE 40001, 40P01, a busy file), so the work must have no effect outside
 * of the database. `timeoutMs` limits all attempts together.
 *
 * Inside of a transaction scope of the same database it is a savepoint of that transaction instead, unless `propagation` says
 * otherwise. Until it has finished, the connection refuses statements from outside of it, because its failure would undo them
 * too. A nested run may repeat the `isolation`, `readOnly` and `signal` of the outermost run, and name the level that the database has
 * chosen for it; it refuses any other option. A
 * run that joins (`required`, `supports`, `mandatory`) may not ask for others of these three either; where it fails, the transaction can
 * only roll back, or the savepoint around it. A `requires-new` run opens its scope under the scope that the transaction around
 * it began in: it shares the instances of that, and does not see the connection of the other transaction. So does a
 * `not-supported` run, which has no transaction: its statements go to the pool. On another database
 * (`pool` and `connection`) a run is a transaction of its own: the two commit one after the other, not together.
 *
 * @param scope - the scope to run in
 * @param work - receives the scope of the transaction, and the attempt
 * @param options - the terms of the transaction, how often to try, and the propagation
 * @returns what the work returns, once it has committed
 * @throws what the work or a `beforeCommit` callback throws
 * @throws what `beginTransaction()`, and `commit()` of the transaction, throw
 * @throws `TransactionError` `AMBIT_TX_TIMEOUT`: no attempt succeeded within `timeoutMs`
 * @throws `TransactionError` `AMBIT_TX_ALREADY_OPEN`: the propagation refuses to run here
 * @throws `TransactionError` `AMBIT_TX_ALREADY_OPEN`: `scope` is that of a request whose transaction is open and has not failed, or
 *   below it; give it the scope of the transaction, or the propagation `requires-new`
 * @throws `TransactionError` `AMBIT_TX_NESTED`: a nested run asks for options that only the outermost run can have
 * @throws `TransactionError` `AMBIT_TX_VERSION`: an older copy of this package has begun the transaction around the run
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 *
 * async function move(requestScope: IContainer): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const connection = scope.resolve<IConnection>('IConnection');
 *     await connection.query('UPDATE stock SET level = level - $1 WHERE product = $2', [1, 'apple']);
 *   }, { isolation: 'serializable', retries: 5 });
 * }
 * ```
 */
export function runInTransaction<T>(scope: IContainer, work: Work<T>, options: RunOptions = {}): Promise<T> {
  return inWorkContext(
    () => ({ scope }),
    () => inOwnContext(runAttempts<T>, scope, work, options),
  );
}

async function runAttempts<T>(scope: IContainer, work: Work<T>, options: RunOptions): Promise<T> {
  const keys = readKeys(options);
  const around = transactionAround(scope, keys.connection, keys.pool);
  const { propagation = 'nested' } = options;
  if (!around && !isApart(propagation)) refuseBesideGuard(scope, keys);
  const way = wayOf(propagation, around);
  if (way !== 'begin') return runWithin(around, way, { scope, work, options });

  const { retries = 3, backoffMs = 10 } = options;
  checkCount('retries', retries, 0);
  checkTime('backoffMs', backoffMs);
  const ofAll = TransactionSettings.of(options);
  const { clock, signal, timeoutMs } = ofAll;
  // The one limit for all attempts replaces the transaction's own.
  const settings = ofAll.with({ timeoutMs: Infinity });
  const limit = new TimeLimit(clock, timeoutMs);
  const parent = around ? requireMember(around, 'parent').parent : scope;
  try {
    for (let number = 1; ; number += 1) {
      let transaction: Transaction | undefined;
      try {
        transaction = await begin(parent, settings, limit);
        return await runOnce(transaction, work, number);
      } catch (failure) {
        const error = isOpen(around) && !transaction ? whileHoldingOne(failure, propagation) : failure;
        // The work may have committed before it failed.
        const isUndone = !transaction || transaction.state === 'rolled back';
        if (!isUndone || number > retries || !isRetryable(error))
          throw error === limit.passed ? withCallersStack(error) : error;
        const pause = clock.random() * Math.min(backoffMs * 2 ** (number - 1), LONGEST_PAUSE_MS);
        if (!limit.allows(pause)) throw limit.timedOut(error);
        await sleep(clock, pause, signal);
      }
    }
  } finally {
    limit.stop();
  }
}

interface Run<T> {
  readonly scope: IContainer;
  readonly work: Work<T>;
  readonly options: RunOptions;
}

/** Runs the work once, with no BEGIN of its own. */
function runWithin<T>(around: Transaction | undefined, way: Way, { scope, work, options }: Run<T>): Promise<T> {
  if (!around || way === 'without' || way === 'outside') {
    const attempt = { number: 1, signal: options.signal ?? new AbortController().signal };
    if (way !== 'outside') return work(scope, attempt);
    const inScope = around ? requireMember(around, 'parent').parent : scope;
    const outside = runOutside(inScope, readKeys(options).connection, () => work(inScope, attempt));
    return isOpen(around) ? outside.catch(refusedBeside) : outside;
  }
  const run = (): Promise<T> => work(scope, new RunAttempt(1, around));
  const own = { ...options, propagation: undefined };
  return way === 'join' ? requireMember(around, 'runJoined').runJoined(run, own) : around.runNested(run, own);
}

/** Waits for as long as the pool allows, unless the time for all attempts is up before that. */
async function begin(parent: IContainer, settings: TransactionSettings, limit: TimeLimit): Promise<Transaction> {
  const start = new TransactionStart(parent, settings);
  limit.onPassed((error) => void start.rollback(error));
  try {
    return await start.begun;
  } catch (error) {
    throw withCallersStack(limit.passed ?? error);
  }
}

async function runOnce<T>(transaction: Transaction, work: Work<T>, number: number): Promise<T> {
  try {
    const working = work(transaction.scope, new RunAttempt(number, transaction));
    // Without types, work may be a function that is not async.
    const result = await unlessLost(transaction, Promise.resolve(working));
    await transaction.commit();
    return result;
  } catch (error) {
    await transaction.rollback(error);
    throw error;
  }
}

/** The error of a `not-supported` run while the transaction around it is open. A time-out of its own work stays what it is. */
function refusedBeside(error: unknown): never {
  throw codeOf(error) === 'AMBIT_TX_ACQUIRE_TIMEOUT' ? whileHoldingOne(error, 'not-supported') : error;
}

class RunAttempt implements Attempt {
  readonly #transaction: Transaction;

  constructor(
    readonly number: number,
    transaction: Transaction,
  ) {
    this.#transaction = transaction;
  }

  get signal(): AbortSignal {
    return this.#transaction.signal;
  }
}

/** Stops waiting for work that does not notice that its transaction is lost: its connection refuses every statement. */
function unlessLost<T>(transaction: Transaction, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    transaction.onLost(reject);
    work.then(resolve, reject);
  });
}

function sleep(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopTimer = startTimer(clock, () => wake(), ms);
    const stopListening =
      signal &&
      onAbort(signal, (error) => {
        stopTimer();
        reject(error);
      });
    const wake = (): void => {
      stopListening?.();
      resolve();
    };
  });
}

/**
 * The time that all attempts of a run have together, including the waits for connections. It has one timer for all of them,
 * of the same length for every run, because timers of one length are shared.
 */
class TimeLimit {
  /** Cancels the timer. */
  readonly stop: () => void;
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #deadline: number;
  #passed: TransactionError | undefined = undefined;
  #listener: ((error: TransactionError) => void) | undefined = undefined;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
    this.#deadline = clock.now() + ms;
    this.stop = startTimer(clock, () => this.#pass(), ms);
  }

  /** Set once the time is up. */
  get passed(): TransactionError | undefined {
    return this.#passed;
  }

  /** True if more than so much is left. */
  allows(ms: number): boolean {
    return this.#clock.now() + ms < this.#deadline;
  }

  /** Calls the listener of the current attempt when the time is up, or at once if it is. */
  onPassed(listener: (error: TransactionError) => void): void {
    this.#listener = listener;
    if (this.#passed) listener(this.#passed);
  }

  timedOut(cause?: unknown): TransactionError {
    const what = `No attempt succeeded within ${Math.round(this.#ms)} ms`;
    return new TransactionError('AMBIT_TX_TIMEOUT', what, cause === undefined ? {} : { cause });
  }

  #pass(): void {
    this.#passed = this.timedOut();
    this.#listener?.(this.#passed);
  }
}
