import type { IncomingMessage } from 'node:http';
import type {
  IConnection,
  IDatabasePool,
  IPooledConnection,
  Row,
  Transaction,
  TransactionError,
  TransactionOptions,
} from '@ambit/transaction';
import type { IContainer } from '@ambit/container';
import { SimulatedCallbacks } from '@ambit/test-kit';
import { checkBegin, checkCommit } from './moments.js';
import { ignore } from './work.js';
import type { FakeSocket } from './client.js';
import type { Run } from './run.js';
import { atEndOf } from './scopes.js';

/** The connection of one visit, which hears what is sent at the moment it is sent. */
class WatchedConnection implements IPooledConnection {
  readonly #inner: IPooledConnection;
  readonly #visit: Visit;

  constructor(inner: IPooledConnection, visit: Visit) {
    this.#inner = inner;
    this.#visit = visit;
    visit.note('has a connection');
  }

  beginTransaction(): Promise<void> {
    this.#visit.note('BEGIN');
    checkBegin(this.#visit);
    return this.#inner.beginTransaction();
  }

  commit(): Promise<void> {
    this.#visit.note('COMMIT');
    checkCommit(this.#visit);
    const committing = this.#inner.commit();
    // A host has responded without it when it comes after its time limit.
    committing.then(() => (this.#visit.commitIsSettled = this.#visit.transaction?.state !== 'unknown'), ignore);
    return committing;
  }

  rollback(): Promise<void> {
    this.#visit.note('ROLLBACK');
    return this.#inner.rollback();
  }

  query<R extends object = Row>(sql: string): Promise<R[]> {
    this.#visit.note(`query ${sql}`);
    return this.#inner.query<R>(sql);
  }

  cancel(): void {
    this.#visit.note('cancel');
    this.#inner.cancel?.();
  }

  release(destroy?: boolean | Error): void {
    this.#visit.note(destroy ? 'destroys its connection' : 'releases its connection');
    this.#inner.release(destroy);
    const { run } = this.#visit;
    if (!run.calm && run.chance.of(0.02)) {
      run.unruly = true;
      throw new Error('release failed');
    }
  }
}

/** One request: what its handler did, and what its client saw of that. */
export class Visit {
  readonly run: Run;
  readonly socket: FakeSocket;
  /** What its transaction writes, and its responses bear. */
  readonly mark: string;
  readonly inTransaction: boolean;
  /** Whether the application leaves errors to the framework. */
  readonly isBare: boolean;
  /** Whether the application opens the scope by itself, where that is possible. */
  readonly bringsScope: boolean;
  /** Whether all of its body is on the way, or the client means to cut it off. */
  readonly comesWhole: boolean;
  isSent = false;
  /** The server has read its head. */
  hasArrived = false;
  /** What the handler did first, as far as it did anything. */
  first: 'answered' | 'failed' | undefined = undefined;
  /** The status that the handler responded with first. */
  status: number | undefined = undefined;
  /** The status that its error handler responded with. */
  errorStatus: number | undefined = undefined;
  /** How often the handler and the error handler responded. */
  responses = 0;
  secondResponsesReported = 0;
  /** The handler waits for something that does not come. */
  waits = false;
  /** The handler closed the transaction by itself, or asked for it where that is its part. */
  asked: 'commit' | 'rollback' | undefined = undefined;
  /** And that by means of the connection, behind the host's back. */
  endsItself = false;
  /** The handler does what makes a host cut the connection. */
  breaksOff = false;
  /** Its transaction has run into its time limit. */
  isTooLate = false;
  /** The handler is one of those that say what is not so. */
  lies = false;
  commitIsSettled = false;
  readonly written = new Set<string>();
  /** What the handler knows to be stored, because it has closed the transaction itself. */
  readonly knownStored = new Set<string>();
  readonly handles: IConnection[] = [];
  transaction: Transaction | undefined = undefined;
  /** Those that its handler registers. */
  readonly callbacks: SimulatedCallbacks;
  scope: IContainer | undefined = undefined;
  signal: AbortSignal | undefined = undefined;
  disposeErrors = 0;
  /** What its scope has to end fails to. */
  endFails = false;

  constructor(run: Run, socket: FakeSocket, mark: string) {
    this.run = run;
    this.socket = socket;
    this.mark = mark;
    this.inTransaction = !run.chance.of(0.15);
    this.isBare = run.chance.of(0.1);
    this.bringsScope = run.bringsScopes && run.chance.of(0.05);
    this.comesWhole = run.calm || !run.chance.of(0.07);
    const { chance, clock, calm } = run;
    this.callbacks = new SimulatedCallbacks({
      chance,
      clock,
      fail: !calm,
      broke: (guarantee) => this.broke(guarantee),
    });
  }

  note(what: string): void {
    this.run.note(this.mark, what);
  }

  broke(promise: string): void {
    this.run.broke(`${this.mark}: ${promise}`);
  }

  /** From here on it has a scope; some come with something to end, which may fail to dispose. */
  begins(scope: IContainer): void {
    const { chance, calm } = this.run;
    this.scope = scope;
    scope.register<string>('IDatabasePool', () => this.#pool);
    if (!this.bringsScope && chance.of(0.3)) this.signal = scope.resolve<AbortSignal>('IRequestSignal');
    if (calm || !chance.of(0.1)) return;
    const throws = chance.of(0.5);
    atEndOf(scope, () => this.#endBadly(throws));
    this.endFails = throws;
  }

  /** What `withTransaction()` and `startTransaction()` are called with. */
  terms(): TransactionOptions {
    const { chance, clock, hasTimeouts } = this.run;
    return {
      clock,
      timeoutMs: hasTimeouts ? chance.pick([chance.below(200), 2000, 2000]) : Infinity,
      endTimeoutMs: 300,
      cancelAfterMs: chance.below(50),
      onError: (error) => this.#onTransactionError(error),
    };
  }

  /** Called just before the handler responds. */
  respondsWith(status: number): number {
    this.note(`responds ${status}`);
    this.responses += 1;
    if (this.first) return status;
    this.first = 'answered';
    this.status = status;
    return status;
  }

  fails(): Error {
    this.note('fails');
    this.first ??= 'failed';
    return new Error('the handler failed');
  }

  /**
   * What an error handler responds: most applications have a status for it. A success of an error handler that has waited
   * is taken for one of the handler that failed, so it does not try.
   */
  respondsWithError(status: number, hasWaited: boolean): number {
    this.responses += 1;
    this.errorStatus = status;
    if (this.run.chance.of(0.9) || hasWaited) return status;
    this.lies = true;
    this.errorStatus = 200;
    return 200;
  }

  /** The body of a stream: short, or much more than a connection takes at a time. */
  parts(): readonly string[] {
    const { chance } = this.run;
    if (!chance.of(0.3)) return [`${this.mark} `, this.mark];
    return Array.from({ length: 2 + chance.below(6) }, () => `${this.mark} `.padEnd(chance.below(700), '.'));
  }

  writes(): string {
    this.written.add(this.mark);
    return this.mark;
  }

  /** Called when a commit that the handler asked for went well. */
  committed(): void {
    for (const mark of this.written) this.knownStored.add(mark);
  }

  /** The pool of the run, as seen from here. */
  readonly #pool: Pick<IDatabasePool, 'getConnection'> = {
    getConnection: async (options) => {
      this.note('asks for a connection');
      return new WatchedConnection(await this.run.pool.getConnection(options), this);
    },
  };

  /** Somebody else disposed its scope, or that of the application. */
  get isEndedFromTheSide(): boolean {
    const { application, ledger } = this.run;
    return ledger.wasEndedFromTheSide(this.scope) || ledger.wasEndedFromTheSide(application);
  }

  async #endBadly(throws: boolean): Promise<void> {
    await this.run.clock.sleep(this.run.chance.below(100));
    if (throws) throw new Error('an instance failed to dispose');
  }

  #onTransactionError(error: TransactionError): void {
    this.note(`transaction: ${error.message}`);
    if (error.code === 'AMBIT_TX_SCOPE_FAILED' && !this.run.unruly) this.broke(error.message);
  }
}

/** The visit that a request belongs to. */
export function visitOf(request: IncomingMessage): Visit {
  return (request.socket as unknown as FakeSocket).visits[Number(request.headers['visit'])] as Visit;
}
