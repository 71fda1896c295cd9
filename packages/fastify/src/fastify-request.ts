import { setImmediate } from 'node:timers/promises';
import type { IContainer } from '@ambit/container';
import {
  clearRepresentation,
  followTrailers,
  HttpError,
  type HttpErrorCode,
  RequestTransaction,
  type PreparedTransactionOptions,
} from '@ambit/http/host';
import { closeUnlessEnded, type ConnectedRequest, isBodyToCome } from '@ambit/http/node';
import type { TransactionError } from '@ambit/transaction';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { TransactionPluginOptions } from './plugins.js';
import { FailedRequest } from './reply.js';

/**
 * A promise that knows whether anybody awaits it: a failure that nobody awaits must not crash the process as an unhandled
 * rejection, but must not be lost either.
 */
export class WatchedPromise<T> extends Promise<T> {
  #isAwaited = false;

  /** `then()` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** Settles as `work` does; `settled` is called first, with the failure where there is one, and what was awaited. */
  static of<W, T>(
    work: Promise<W>,
    { value, failed }: { readonly value: (result: W) => T; readonly failed: (step: Omit<FailedStep, 'log'>) => void },
  ): WatchedPromise<T> {
    const watched = new WatchedPromise<T>((resolve, reject) => {
      const fail = (error: unknown): void => {
        failed({ error, isKnown: () => watched.#isAwaited });
        // From now on it counts as handled.
        void super.prototype.then.call(watched, undefined, () => undefined);
        reject(error);
      };
      work.then((result) => resolve(value(result)), fail);
    });
    return watched;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a promise is one
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#isAwaited = true;
    return super.then(onFulfilled, onRejected);
  }
}

/** A transaction that could not be started or committed. */
export interface FailedStep {
  readonly error: unknown;
  /** True if the handler awaits the step, and so knows. */
  readonly isKnown: () => boolean;
  readonly log: () => void;
}

/** The key of the state that the plugins alone keep in a request. */
export const STATE: unique symbol = Symbol('ambit.requestState');

/** Where `containerPlugin` keeps the routes whose `config.transaction` no `transactionPlugin` has seen yet. */
export const UNSEEN_ROUTES: unique symbol = Symbol('ambit.unseenRoutes');

/** The key under which `transactionPlugin` keeps its options: a router within has its own, if it registers the plugin again. */
export const TRANSACTIONS: unique symbol = Symbol('ambit.transactions');

/** The options of a server, or of a router within it, for what its routes leave open. */
interface TransactionDefaults {
  readonly options: TransactionPluginOptions;
  /** The defaults of a transaction without options of its own. */
  readonly prepare: (request: FastifyRequest) => PreparedTransactionOptions;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** @internal */
    [STATE]: FastifyRequestState | null;
  }
  interface FastifyInstance {
    /** @internal */
    [UNSEEN_ROUTES]: Set<RouteOptions>;
    /** @internal */
    [TRANSACTIONS]?: TransactionDefaults;
  }
}

/** A request of Fastify, and what becomes of the transactions that its handler begins, commits and rolls back. */
export class FastifyRequestState {
  readonly connected: ConnectedRequest;
  readonly reply: FastifyReply;
  /** The transaction is that of the route, so that its response commits. */
  isOfRoute = false;
  /** The response must not be a success, nor keep its headers, unless the handler knows. */
  failedStep: FailedStep | undefined = undefined;
  /** The handler has responded or failed, or that was done in its place. */
  hasResponse = false;
  isRolledBack = false;
  /** It failed and its transaction was rolled back: whatever the handler responds now, that is no success. */
  failed: FailedRequest | undefined = undefined;

  constructor(connected: ConnectedRequest, reply: FastifyReply) {
    this.connected = connected;
    this.reply = reply;
  }

  get transaction(): RequestTransaction | undefined {
    return this.connected.transaction;
  }

  /** Goes on in the scope of its transaction, as the current one. */
  runIn(transactionScope: IContainer, goOn: () => void): void {
    this.connected.currentScope = transactionScope;
    this.connected.run(goOn);
  }

  /** The current scope is its own again. */
  leaveScope(): void {
    this.connected.currentScope = this.connected.scope;
  }

  /** Error handlers must not get the scope of a transaction that failed. */
  runErrorHandler(goOn: () => void): void {
    this.connected.run(goOn, this.connected.scope);
  }

  /** Begins a transaction. Its promise rejects with nothing left behind. */
  begin(
    prepared: PreparedTransactionOptions,
    { isOfRoute }: { readonly isOfRoute: boolean },
  ): WatchedPromise<IContainer> {
    const { isDisposed, isOut, res, scope } = this.connected;
    if (!scope || isOut || isDisposed) return this.#refuse('AMBIT_DISPOSED');
    if (this.transaction) return this.#refuse('AMBIT_TX_ALREADY_OPEN');
    if (res.headersSent) {
      closeUnlessEnded(res);
      return this.#refuse('AMBIT_HTTP_HEAD_SENT');
    }
    const transaction = new RequestTransaction(scope, prepared, undefined, isBodyToCome(this.connected.req));
    followTrailers(this.reply);
    this.isOfRoute = isOfRoute;
    return WatchedPromise.of(transaction.begun, {
      value: (begun) => {
        begun.onLost((error) => {
          if (error.code === 'AMBIT_TX_TIMEOUT' && !transaction.timeout) void this.#respondInPlace(transaction, error);
        });
        return begun.scope;
      },
      failed: (step) => this.#note(step),
    });
  }

  commit(): WatchedPromise<void> {
    const { transaction } = this;
    if (!transaction) return this.#refuse('AMBIT_HTTP_NO_TRANSACTION');
    return WatchedPromise.of(transaction.commit(), {
      value: () => undefined,
      failed: (step) => this.#note(step),
    });
  }

  /** Never rejects. */
  async rollback(reason: unknown): Promise<void> {
    const { transaction } = this;
    if (!transaction) return;
    this.isRolledBack = true;
    await transaction.rollback(reason);
  }

  /** Removes headers that the handler set expecting a commit. */
  takeBackHead(error: unknown): void {
    const { failedStep } = this;
    this.failedStep = undefined;
    clearRepresentation(this.reply);
    if (failedStep?.isKnown() === false && failedStep.error !== error) failedStep.log();
  }

  /** The scope is to be disposed, and the transaction is still open. */
  async close(transaction: RequestTransaction, reason: unknown): Promise<void> {
    // Not `writableFinished`: whether the client stayed for all of the response makes no difference to the mistake.
    this.isRolledBack = !isCommitted(transaction);
    if (this.reply.raw.writableEnded) await this.#closeLeftOpen(transaction);
    else await transaction.rollback(reason);
  }

  /** A handler that responds past Fastify's hooks, as after `hijack()`, is notified in no other way. */
  async #closeLeftOpen(transaction: RequestTransaction): Promise<void> {
    const complaint = complaintOf(transaction);
    await undo(transaction, complaint);
    // A commit that nobody awaited was in progress, and has succeeded; or it failed, and only now is it known how.
    if (complaint !== undefined && !isCommitted(transaction)) this.#log(complaintOf(transaction) ?? complaint);
  }

  #refuse<T>(code: HttpErrorCode): WatchedPromise<T> {
    const refused: Promise<never> = Promise.reject(new HttpError(code));
    return WatchedPromise.of(refused, { value: (never) => never, failed: (step) => this.#note(step) });
  }

  /** The first failure of which the handler does not know is kept. */
  #note({ error, isKnown }: Omit<FailedStep, 'log'>): void {
    if (this.failedStep?.isKnown() === false) return;
    const failedStep = { error, isKnown, log: () => this.#log(error) };
    this.failedStep = failedStep;
    // After `hijack()` no hook has seen the response. Not `writableFinished`, see below.
    this.connected.onCompleted(() => {
      if (this.failedStep === failedStep && this.reply.raw.writableEnded && !isKnown()) failedStep.log();
    });
  }

  #log(error: unknown): void {
    this.reply.log.error({ err: error }, 'The transaction failed to close');
  }

  /** A handler that still works on a transaction that took too long may never respond, and its client would wait. */
  async #respondInPlace(transaction: RequestTransaction, error: TransactionError): Promise<void> {
    transaction.timeout = error;
    // It stays that of the request, so that the handler cannot begin another one, nor respond as if it had none.
    await transaction.current?.rollback(error);
    // A handler whose statement was refused with the rollback responds by itself.
    await setImmediate();
    const { reply } = this;
    const isOpen = this.transaction === transaction && !this.hasResponse && !this.connected.isDisposed;
    if (!isOpen || reply.sent || reply.raw.headersSent) return;
    this.failed ??= new FailedRequest(error);
    reply.header('retry-after', '1').send(error);
  }
}

export function isCommitted({ current }: RequestTransaction): boolean {
  return current?.state === 'committed';
}

/** Never rejects. Waits for a commit that nobody awaits, even if COMMIT was not sent yet. */
export async function undo(transaction: RequestTransaction, complaint: unknown): Promise<void> {
  await transaction.committing?.catch(() => undefined);
  await transaction.rollback(complaint);
}

/** Why a response must not report success, now that the handler has finished with this transaction open. */
export function complaintOf(transaction: RequestTransaction): unknown {
  if (isCommitted(transaction)) return undefined;
  const error = transaction.current?.error;
  if (!error) return new HttpError('AMBIT_HTTP_TRANSACTION_LEFT_OPEN');
  if (error.code !== 'AMBIT_TX_FINISHED') return error;
  // A handler that rolled it back through the `IConnection` or the request gave no reason, and knew what it did.
  const { cause } = error;
  return cause === undefined || cause instanceof HttpError ? cause : error;
}
