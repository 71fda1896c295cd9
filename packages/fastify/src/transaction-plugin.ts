import type { IContainer } from '@ambit/container';
import {
  checkTransactionOptions,
  clearRepresentation,
  CurrentScope,
  HttpError,
  invalidOption,
  type RequestTransaction,
  type RequestTransactionOptions,
  type RequestTransactionTerms,
  termsOf,
} from '@ambit/http/host';
import { inOwnContext, type TransactionError, type TransactionOptions, TransactionSettings } from '@ambit/transaction';
import type {
  DoneFuncWithErrOrRes,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  onSendHookHandler,
  preHandlerHookHandler,
} from 'fastify';
import {
  ACTIVE_REQUEST,
  complaintOf,
  type FastifyActiveRequest,
  isCommitted,
  undo,
  UNSEEN_ROUTES,
} from './active-request.js';
import { definePlugin } from './fastify-internals.js';
import { checkSendable, discard, FailedRequest, goOnAfter, ignoreErrors, keepsUntilRead } from './reply.js';

/**
 * The scope of the request's open transaction. Unlike `request.transactionScope` it is never undefined: without an open
 * transaction this throws.
 *
 * @param request - the request
 * @returns the scope tagged `transaction`
 * @throws `HttpError` `AMBIT_HTTP_NO_TRANSACTION`: there is none
 *
 * @example
 * ```ts
 * import type { IConnection } from '@ambit/transaction';
 * import type { FastifyRequest } from 'fastify';
 *
 * const storeOrder = (request: FastifyRequest): Promise<unknown> =>
 *   requireTransactionScope(request).resolve<IConnection>('IConnection').query('INSERT INTO orders DEFAULT VALUES');
 * ```
 */
export function requireTransactionScope(request: Pick<FastifyRequest, 'transactionScope'>): IContainer {
  const { transactionScope } = request;
  if (transactionScope) return transactionScope;
  throw new HttpError('AMBIT_HTTP_NO_TRANSACTION', 'call and await request.startTransaction() first');
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Runs the handler of the route in a transaction: BEGIN before it, COMMIT before its response is sent. */
    readonly transaction?: boolean | RouteTransactionOptions;
  }
}

/** What every transaction is begun with, unless `startTransaction(options)` or the route says otherwise. */
export interface TransactionPluginOptions extends Omit<TransactionOptions, 'onError' | 'signal'> {
  /** Called with failures that change no outcome. Default: the request's log. */
  readonly onError?: (error: TransactionError, request: FastifyRequest) => void;
}

/** The terms of a route with `config: { transaction: ... }`; for what they leave open, the plugin's options hold. */
export interface RouteTransactionOptions
  extends TransactionPluginOptions, Pick<RequestTransactionOptions<never>, 'rollbackOn'> {}

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
  const termsFor: TermsFor = ({ onError: own = onError, ...terms }) =>
    termsOf<FastifyRequest>({ ...defaults, ...terms, onError: own });
  const terms = termsFor({});

  server.decorateRequest('transactionScope', {
    getter(this: FastifyRequest) {
      return this[ACTIVE_REQUEST]?.transaction?.current?.scope;
    },
  });
  server.decorateRequest('startTransaction', function (own) {
    const active = this[ACTIVE_REQUEST];
    if (!active) return Promise.reject(new HttpError('AMBIT_HTTP_REQUEST_FINISHED'));
    if (!own) return active.begin(terms(this));
    const settings = { ...defaults, onError: (error: TransactionError) => onError(error, this), ...own };
    return active.begin({ settings: TransactionSettings.of(settings) });
  });
  server.decorateRequest('commitTransaction', function () {
    return this[ACTIVE_REQUEST]?.commit() ?? Promise.reject(new HttpError('AMBIT_HTTP_NO_TRANSACTION'));
  });
  server.decorateRequest('rollbackTransaction', function () {
    return this[ACTIVE_REQUEST]?.rollback(undefined) ?? Promise.resolve();
  });

  addRouteTransactions(server, termsFor);

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
    if (transaction && active.isOfRoute) return done();
    const complaint = transaction && complaintOf(transaction);
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
  const undoAndReplace = async (): Promise<void> => {
    await undo(transaction, complaint);
    active.forget(transaction);
    // A commit that nobody awaited was in progress: the response has now waited for it, and is true.
    if (isCommitted(transaction)) return;
    // Or it failed, and only now is it known how.
    instead = (complaintOf(transaction) ?? complaint) as Error;
    active.failed ??= new FailedRequest(instead);
    clearRepresentation(reply);
    discard(payload);
  };
  goOnAfter(undoAndReplace(), reply, (failure) => settle(done, payload, failure ?? instead), { payload });
}

function logFailure(error: unknown, request: FastifyRequest): void {
  request.log.error({ err: error }, 'The transaction failed to close');
}

/** What each transaction of a route is begun with. */
type TermsFor = (options: RouteTransactionOptions) => (request: FastifyRequest) => RequestTransactionTerms;

/** Routes with `config: { transaction: ... }` run in a transaction that begins behind all their other hooks. */
function addRouteTransactions(server: FastifyInstance, termsFor: TermsFor): void {
  const beginners = new WeakSet<object>();
  const beginnerOf = (options: RouteTransactionOptions): preHandlerHookHandler => {
    const terms = termsFor(options);
    const begin: preHandlerHookHandler = (request, _reply, done) => {
      const active = request[ACTIVE_REQUEST];
      if (!active) return done();
      active.isOfRoute = true;
      const begun = (scope: IContainer): void => {
        CurrentScope.of(request.raw)?.enter(scope);
        CurrentScope.run(request.raw, () => done());
      };
      const failed = (error: unknown): void => done(error as Error);
      inOwnContext(() => void active.begin(terms(request)).then(begun, failed));
    };
    beginners.add(begin);
    return begin;
  };
  // Behind the hooks of the plugins and of the route, which may replace the payload.
  const commit: onSendHookHandler = (request, reply, payload, done) => {
    const active = request[ACTIVE_REQUEST];
    const transaction = active?.isOfRoute && active.transaction;
    if (active && transaction) commitFirst({ active, reply, payload: keepsUntilRead(payload), transaction }, done);
    else done();
  };
  server.addHook('onRoute', (route) => {
    const options = optionsOf(route.config?.transaction);
    if (!options) return;
    server[UNSEEN_ROUTES].delete(route);
    checkTransactionOptions(options);
    const before = listOf(route.preHandler);
    // The HEAD route that Fastify adds to one of GET has the hooks of that.
    if (before.some((hook) => beginners.has(hook))) return;
    route.preHandler = [...before, beginnerOf(options)];
    route.onSend = [...listOf(route.onSend), commit];
  });
}

function listOf<Hook>(hooks: Hook | Hook[] = []): readonly Hook[] {
  return Array.isArray(hooks) ? hooks : [hooks];
}

function optionsOf(transaction: unknown): RouteTransactionOptions | undefined {
  if (transaction === true) return {};
  if (transaction === undefined || transaction === false) return undefined;
  if (typeof transaction === 'object' && transaction !== null) return transaction;
  throw invalidOption(`config.transaction of a route must be true, false or an object, not ${typeof transaction}`);
}

interface ReadyResponse {
  readonly active: FastifyActiveRequest;
  readonly reply: FastifyReply;
  readonly payload: unknown;
  readonly transaction: RequestTransaction;
}

/** Calls what Fastify waits for: with the error, or with the payload to send. */
function settle(done: DoneFuncWithErrOrRes, payload: unknown, failure: Error | undefined): void {
  if (failure) done(failure);
  else done(null, payload);
}

/** The response waits for COMMIT, or for ROLLBACK where its status asks for that; an error is sent in its place where COMMIT fails. */
function commitFirst({ active, reply, payload, transaction }: ReadyResponse, done: DoneFuncWithErrOrRes): void {
  let failure: Error | undefined;
  ignoreErrors(payload);
  const decided = reply.statusCode;
  const close = async (): Promise<void> => {
    const status = payload instanceof Response ? payload.status : decided;
    try {
      if (transaction.rollbackOn(status)) await transaction.rollback();
      else {
        await checkSendable(reply, payload);
        await transaction.commitFor(status);
      }
    } catch (error) {
      failure = error as Error;
      await transaction.rollback(error);
      active.failed ??= new FailedRequest(error);
      clearRepresentation(reply);
      discard(payload);
    }
    active.forget(transaction);
    CurrentScope.of(reply.request.raw)?.leave();
  };
  const goOn = (thrown?: Error): void => {
    // What decided between COMMIT and ROLLBACK is what the client gets, whatever else the handler has set meanwhile.
    if (!(thrown ?? failure) && reply.statusCode !== decided) reply.code(decided);
    settle(done, payload, thrown ?? failure);
  };
  goOnAfter(close(), reply, goOn, { payload });
}
