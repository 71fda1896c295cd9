import { setImmediate } from 'node:timers/promises';
import type { IContainer } from '@ambit/container';
import type { TransactionError, TransactionOptions } from '@ambit/transaction';
import type { DoneFuncWithErrOrRes, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { clearHead, discard, ignoreErrors } from './answer.js';
import { REQUEST_LIFE } from './container-plugin.js';
import { HttpError } from './errors.js';
import { FailedRequest } from './failed-request.js';
import { goOnAfter } from './go-on-after.js';
import { definePlugin } from './plugin.js';
import type { RequestLife } from './request-life.js';
import { RequestTransaction } from './request-transaction.js';
import { WatchedPromise } from './watched-promise.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The scope tagged `transaction`, from `startTransaction()` to `commitTransaction()` or `rollbackTransaction()`. */
    readonly transactionScope?: IContainer | undefined;
    /** Begins a transaction on a connection of its own; a request has one at a time. Rejects with nothing left behind. */
    startTransaction(options?: TransactionOptions): Promise<IContainer>;
    /** Resolves when the database has committed. Rejects, with the scope ended all the same, when it has not. */
    commitTransaction(): Promise<void>;
    /** Resolves when the transaction is over; does nothing when there is none. Never rejects. */
    rollbackTransaction(): Promise<void>;
  }
}

/** What every transaction is begun with, unless `startTransaction(options)` says otherwise. */
export interface TransactionPluginOptions extends Omit<TransactionOptions, 'onError' | 'signal'> {
  /** Told of failures that change no outcome. Default: the request's log. */
  readonly onError?: (error: TransactionError, request: FastifyRequest) => void;
}

/**
 * Gives requests `startTransaction()`, `commitTransaction()`, `rollbackTransaction()` and `transactionScope`. Whatever
 * fails rolls back, and so does a client that goes away before COMMIT was sent.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { fastify } from 'fastify';
 *
 * declare const container: IContainer;
 * const server = fastify();
 * await server.register(containerPlugin, { container });
 * await server.register(transactionPlugin, { isolation: 'repeatable read' });
 * server.post('/api/orders', async (request, reply) => {
 *   const scope = await request.startTransaction();
 *   const order = await scope.resolve<{ create(body: unknown): Promise<object> }>('IOrderRepository').create(request.body);
 *   await request.commitTransaction();
 *   return reply.code(201).send(order);
 * });
 * ```
 */
export const transactionPlugin: FastifyPluginAsync<TransactionPluginOptions> = definePlugin({
  name: 'transaction',
  dependencies: ['container'],
  plugin: registerTransaction,
});

function registerTransaction(server: FastifyInstance, options: TransactionPluginOptions): void {
  const { onError = logLate, ...defaults } = options;

  server.decorateRequest('transactionScope', {
    getter(this: FastifyRequest) {
      return this[REQUEST_LIFE]?.transaction?.scope;
    },
  });
  server.decorateRequest('startTransaction', function (own) {
    const merged = { ...defaults, onError: (error: TransactionError) => onError(error, this), ...own };
    const starting: WatchedPromise<IContainer> = WatchedPromise.of(start(this, merged, () => starting.awaited));
    return starting;
  });
  server.decorateRequest('commitTransaction', function () {
    return commit(this);
  });
  server.decorateRequest('rollbackTransaction', function () {
    return rollback(this, undefined);
  });

  // Also after an answer was sent: then there is no transaction left, and nothing happens.
  server.addHook('onError', (request, reply, error, done) => {
    const life = request[REQUEST_LIFE];
    if (!life) return done();
    life.hasResponse = true;
    if (life.transaction || life.failedStep || life.isRolledBack) life.failed ??= new FailedRequest(error);
    if (life.failedStep) takeBack(life, reply, error);
    const { failed } = life;
    failed?.resetStatus(reply);
    const goOn: (failure?: Error) => void = done;
    goOnAfter(life.transaction && rollback(request, error), reply, (failure) => {
      if (!failed || failure) return goOn(failure);
      failed.isHandling = true;
      try {
        goOn();
      } finally {
        failed.isHandling = false;
      }
    });
  });

  server.addHook('onSend', (request, reply, payload, done) => {
    const life = request[REQUEST_LIFE];
    const transaction = life?.transaction;
    const complaint = transaction?.complaint();
    if (life) life.hasResponse = true;
    if (transaction && complaint !== undefined) {
      undoFirst({ request, reply, payload, transaction, complaint }, done);
    } else if (life?.failed?.drops(reply, payload, done)) {
      // Fastify has sent nothing: it waits for `done`, or for the error handler.
    } else if (life?.failedStep?.isKnown() === false) {
      discard(payload);
      done(life.failedStep.error as Error);
    } else done();
  });
}

interface UntrueAnswer {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly payload: unknown;
  readonly transaction: RequestTransaction;
  readonly complaint: unknown;
}

/** An error goes out in place of the answer, unless that proves true. */
function undoFirst(
  { request, reply, payload, transaction, complaint }: UntrueAnswer,
  done: DoneFuncWithErrOrRes,
): void {
  let instead: Error | undefined;
  ignoreErrors(payload);
  const undo = async (): Promise<void> => {
    await transaction.undo(complaint);
    forget(request, transaction);
    // A commit that nobody awaited was under way: the answer has now waited for it, and is true.
    if (transaction.committed) return;
    // Or it failed, and only now is it known how.
    instead = (transaction.complaint() ?? complaint) as Error;
    const life = request[REQUEST_LIFE];
    if (life) life.failed ??= new FailedRequest(instead);
    clearHead(reply);
    discard(payload);
  };
  goOnAfter(undo(), reply, (failure) => done((failure ?? instead) as Error), { payload });
}

async function start(
  request: FastifyRequest,
  options: TransactionOptions,
  isKnown: () => boolean,
): Promise<IContainer> {
  const life = request[REQUEST_LIFE];
  if (!life?.scope || life.ended) throw new HttpError('AMBIT_HTTP_REQUEST_ENDED');
  if (life.transaction) throw new HttpError('AMBIT_HTTP_TRANSACTION_STARTED');
  const transaction = new RequestTransaction(life.scope, options, (error) => logLate(error, request));
  life.transaction = transaction;
  try {
    const begun = await transaction.begun;
    let isLost = false;
    begun.onLost((error) => {
      if (isLost) return;
      isLost = true;
      if (error.code === 'AMBIT_TX_TIMEOUT') void respondInPlace(life, transaction, error);
    });
    return begun.scope;
  } catch (error) {
    forget(request, transaction);
    noteFailure(request, error, isKnown);
    throw error;
  }
}

/** A handler that still works on a transaction that took too long may never respond, and its client would wait. */
async function respondInPlace(life: RequestLife, transaction: RequestTransaction, error: Error): Promise<void> {
  await transaction.rollback(error);
  // A handler whose statement was refused with the rollback responds by itself.
  await setImmediate();
  const { reply, response } = life;
  const isOpen = life.transaction === transaction && !life.hasResponse && !life.ended;
  if (!isOpen || reply.sent || response.headersSent) return;
  life.failed ??= new FailedRequest(error);
  reply.header('retry-after', '1').send(error);
}

function commit(request: FastifyRequest): Promise<void> {
  const outcome: WatchedPromise<void> = WatchedPromise.of(tryToCommit(request, () => outcome.awaited));
  return outcome;
}

async function tryToCommit(request: FastifyRequest, isKnown: () => boolean): Promise<void> {
  const life = request[REQUEST_LIFE];
  const transaction = life?.transaction;
  try {
    if (!transaction) throw new HttpError('AMBIT_HTTP_NO_TRANSACTION');
    await transaction.commit();
  } catch (error) {
    noteFailure(request, error, isKnown);
    throw error;
  } finally {
    if (transaction) forget(request, transaction);
  }
}

/** The first failure of which the handler does not know is kept. */
function noteFailure(request: FastifyRequest, error: unknown, isKnown: () => boolean): void {
  const life = request[REQUEST_LIFE];
  if (!life || life.failedStep?.isKnown() === false) return;
  life.failedStep = { error, isKnown, log: () => logLate(error, request) };
}

/** What the handler said of its response was said in the hope of a commit, and holds for no error. */
function takeBack(life: RequestLife, reply: FastifyReply, error: unknown): void {
  const { failedStep } = life;
  life.failedStep = undefined;
  clearHead(reply);
  if (failedStep?.isKnown() === false && failedStep.error !== error) failedStep.log();
}

async function rollback(request: FastifyRequest, reason: unknown): Promise<void> {
  const life = request[REQUEST_LIFE];
  const transaction = life?.transaction;
  if (!transaction) return;
  life.isRolledBack = true;
  await transaction.rollback(reason);
  forget(request, transaction);
}

function forget(request: FastifyRequest, transaction: RequestTransaction): void {
  const life = request[REQUEST_LIFE];
  if (life?.transaction === transaction) life.transaction = undefined;
}

function logLate(error: unknown, request: FastifyRequest): void {
  request.log.error({ err: error }, 'The transaction failed to close');
}
