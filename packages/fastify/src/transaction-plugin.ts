import type { IContainer } from '@ambit/container';
import { clearRepresentation, CurrentScope, HttpError } from '@ambit/http/host';
import { type TransactionError, type TransactionOptions, TransactionSettings } from '@ambit/transaction';
import type { DoneFuncWithErrOrRes, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ACTIVE_REQUEST, type FastifyActiveRequest } from './active-request.js';
import { discard, ignoreErrors, keepsUntilRead } from './payload.js';
import { FailedRequest } from './failed-request.js';
import { definePlugin } from './fastify-internals.js';
import { goOnAfter } from './go-on-after.js';
import type { RequestTransaction } from './request-transaction.js';
import { addRouteTransactions, settle } from './route-transaction.js';
import type { TransactionPluginOptions } from './request.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The scope tagged `transaction`, from `startTransaction()` to `commitTransaction()` or `rollbackTransaction()`. */
    readonly transactionScope?: IContainer | undefined;
    /**
     * Begins a transaction on a connection of its own; a request has one at a time. Rejects with nothing left behind.
     *
     * @param options - the terms of the transaction. Default: those of the plugin
     * @returns the scope tagged `transaction`, in which `IConnection` is its connection
     * @throws `HttpError` `AMBIT_HTTP_TRANSACTION_STARTED`: the request has a transaction already; `AMBIT_HTTP_REQUEST_FINISHED`: it has
     *   finished; `AMBIT_HTTP_HEAD_SENT`: its response has begun. `TransactionError`: no connection could be acquired, or BEGIN failed. `ContainerError`: there is no `IDatabasePool`
     */
    startTransaction(options?: TransactionOptions): Promise<IContainer>;
    /**
     * Resolves when the database has committed. Rejects, with the scope disposed all the same, when it has not.
     *
     * @throws `HttpError` `AMBIT_HTTP_NO_TRANSACTION`: the request has no open transaction. `TransactionError`: COMMIT failed
     */
    commitTransaction(): Promise<void>;
    /** Resolves when the transaction is closed; does nothing when there is none. Never rejects. */
    rollbackTransaction(): Promise<void>;
  }
}

/**
 * Gives requests `startTransaction()`, `commitTransaction()`, `rollbackTransaction()` and `transactionScope`. Whatever
 * fails rolls back, and so does a client that goes away before COMMIT was sent. A route with `config: { transaction: true }` runs in one.
 *
 * @param instance - the server; `server.register(transactionPlugin, options)` passes it
 * @param opts - what every transaction is begun with
 * @throws `HttpError` `AMBIT_HTTP_OPTION` or `TransactionError` `AMBIT_TX_OPTION`: an option is invalid; of `config.transaction`, from `server.route()`
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
  const { onError = logFailure, ...defaults } = options;
  const settingsFor = ({ onError: own = onError, ...terms }: TransactionPluginOptions) => {
    const settings = TransactionSettings.of({ ...defaults, ...terms });
    return (request: FastifyRequest) => settings.with({ onError: (error) => own(error, request) });
  };
  const settingsOf = settingsFor({});

  server.decorateRequest('transactionScope', {
    getter(this: FastifyRequest) {
      return this[ACTIVE_REQUEST]?.transaction?.scope;
    },
  });
  server.decorateRequest('startTransaction', function (own) {
    const active = this[ACTIVE_REQUEST];
    if (!active) return Promise.reject(new HttpError('AMBIT_HTTP_REQUEST_FINISHED'));
    if (!own) return active.begin(settingsOf(this));
    return active.begin({ ...defaults, onError: (error: TransactionError) => onError(error, this), ...own });
  });
  server.decorateRequest('commitTransaction', function () {
    return this[ACTIVE_REQUEST]?.commit() ?? Promise.reject(new HttpError('AMBIT_HTTP_NO_TRANSACTION'));
  });
  server.decorateRequest('rollbackTransaction', function () {
    return this[ACTIVE_REQUEST]?.rollback(undefined) ?? Promise.resolve();
  });

  addRouteTransactions(server, settingsFor);

  // Also after a response was sent: then there is no transaction left, and nothing happens.
  server.addHook('onError', (request, reply, error, done) => {
    const active = request[ACTIVE_REQUEST];
    if (!active) return done();
    active.hasResponse = true;
    if (active.transaction || active.failedStep || active.isRolledBack) active.failed ??= new FailedRequest(error);
    if (active.failedStep) active.takeBackHead(error);
    CurrentScope.of(request.raw)?.leave();
    const { failed } = active;
    failed?.resetStatus(reply);
    const goOn: (failure?: Error) => void = done;
    goOnAfter(active.transaction && active.rollback(error), reply, (failure) => {
      if (!failed || failure) return goOn(failure);
      failed.isHandling = true;
      try {
        CurrentScope.runOutside(request.raw, () => goOn());
      } finally {
        failed.isHandling = false;
      }
    });
  });

  server.addHook('onSend', (request, reply, payload, done) => {
    const active = request[ACTIVE_REQUEST];
    if (!active) return done();
    active.hasResponse = true;
    const { transaction } = active;
    // The last hook of the route commits.
    if (transaction && active.routeTransaction) return done();
    const complaint = transaction?.complaint();
    if (transaction && complaint !== undefined) {
      undoFirst({ active, reply, payload: keepsUntilRead(payload), transaction, complaint }, done);
    } else if (active.failed?.drops(reply, payload, done)) {
      // Fastify has sent nothing: it waits for `done`, or for the error handler.
    } else if (active.failedStep?.isKnown() === false) {
      discard(payload);
      done(active.failedStep.error as Error);
    } else done();
  });
}

interface UntrueResponse {
  readonly active: FastifyActiveRequest;
  readonly reply: FastifyReply;
  readonly payload: unknown;
  readonly transaction: RequestTransaction;
  readonly complaint: unknown;
}

/** An error is sent in place of the response, unless that proves true. */
function undoFirst(
  { active, reply, payload, transaction, complaint }: UntrueResponse,
  done: DoneFuncWithErrOrRes,
): void {
  let instead: Error | undefined;
  ignoreErrors(payload);
  const undo = async (): Promise<void> => {
    await transaction.undo(complaint);
    active.forget(transaction);
    // A commit that nobody awaited was in progress: the response has now waited for it, and is true.
    if (transaction.committed) return;
    // Or it failed, and only now is it known how.
    instead = (transaction.complaint() ?? complaint) as Error;
    active.failed ??= new FailedRequest(instead);
    clearRepresentation(reply);
    discard(payload);
  };
  goOnAfter(undo(), reply, (failure) => settle(done, payload, failure ?? instead), { payload });
}

function logFailure(error: unknown, request: FastifyRequest): void {
  request.log.error({ err: error }, 'The transaction failed to close');
}
