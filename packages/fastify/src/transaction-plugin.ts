import type { IContainer } from '@ambit/container';
import type { TransactionError, TransactionOptions } from '@ambit/transaction';
import type { DoneFuncWithErrOrRes, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { clearHead } from './answer.js';
import { REQUEST_LIFE } from './container-plugin.js';
import { HttpError } from './errors.js';
import { goOnAfter } from './go-on-after.js';
import { definePlugin } from './plugin.js';
import { RequestTransaction } from './request-transaction.js';

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
    return start(this, { ...defaults, onError: (error) => onError(error, this), ...own });
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
    if (life?.commitFailed) clearHead(reply);
    goOnAfter(life?.transaction && rollback(request, error), reply, done);
  });

  server.addHook('onSend', (request, reply, payload, done) => {
    const transaction = request[REQUEST_LIFE]?.transaction;
    const complaint = transaction?.complaint();
    if (!transaction || complaint === undefined) done();
    else undoFirst({ request, reply, payload, transaction, complaint }, done);
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
  const undo = async (): Promise<void> => {
    await transaction.undo(complaint);
    forget(request, transaction);
    // A commit that nobody awaited was under way: the answer has now waited for it, and is true.
    if (transaction.committed) return;
    // Or it failed, and only now is it known how.
    instead = (transaction.complaint() ?? complaint) as Error;
    retract(reply, payload);
  };
  goOnAfter(undo(), reply, (failure) => done((failure ?? instead) as Error));
}

async function start(request: FastifyRequest, options: TransactionOptions): Promise<IContainer> {
  const life = request[REQUEST_LIFE];
  if (!life || life.ended) throw new HttpError('AMBIT_HTTP_REQUEST_ENDED');
  if (life.transaction) throw new HttpError('AMBIT_HTTP_TRANSACTION_STARTED');
  const transaction = new RequestTransaction(life.scope, options, (error) => logLate(error, request));
  life.transaction = transaction;
  try {
    const { scope } = await transaction.begun;
    return scope;
  } catch (error) {
    forget(request, transaction);
    throw error;
  }
}

async function commit(request: FastifyRequest): Promise<void> {
  const life = request[REQUEST_LIFE];
  const transaction = life?.transaction;
  if (!transaction) throw new HttpError('AMBIT_HTTP_NO_TRANSACTION');
  try {
    await transaction.commit();
  } catch (error) {
    life.commitFailed = true;
    throw error;
  } finally {
    forget(request, transaction);
  }
}

async function rollback(request: FastifyRequest, reason: unknown): Promise<void> {
  const transaction = request[REQUEST_LIFE]?.transaction;
  if (!transaction) return;
  await transaction.rollback(reason);
  forget(request, transaction);
}

function forget(request: FastifyRequest, transaction: RequestTransaction): void {
  const life = request[REQUEST_LIFE];
  if (life?.transaction === transaction) life.transaction = undefined;
}

/** What was said of an answer does not hold for the error that replaces it. */
function retract(reply: FastifyReply, payload: unknown): void {
  clearHead(reply);
  const { destroy } = (payload ?? {}) as { destroy?: unknown };
  if (typeof destroy === 'function') destroy.call(payload);
}

function logLate(error: unknown, request: FastifyRequest): void {
  request.log.error({ err: error }, 'The transaction did not end well');
}
