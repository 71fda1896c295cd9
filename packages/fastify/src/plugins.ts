import type { IContainer } from '@ambit/container';
import { drainScopes } from '@ambit/container/work';
import {
  checkFunctions,
  checkTimes,
  clearRepresentation,
  HttpError,
  invalidOption,
  type ParentScope,
  type RequestOptions,
  type RequestTransaction,
  type RequestTransactionOptions,
  prepareTransactionOptions,
  transactionScopeOf,
  settleWithin,
  type TimeLimit,
} from '@ambit/http/host';
import { ConnectedRequest, ServerConnections, type LoadOptions, RequestHost } from '@ambit/http/node';
import type { TransactionError, TransactionOptions } from '@ambit/transaction';
import { inOwnContext } from '@ambit/transaction/host';
import type {
  DoneFuncWithErrOrRes,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  onSendHookHandler,
  preHandlerHookHandler,
  RouteOptions,
} from 'fastify';
import {
  STATE,
  complaintOf,
  FastifyRequestState,
  isCommitted,
  TRANSACTIONS,
  undo,
  UNSEEN_ROUTES,
} from './fastify-request.js';
import { definePlugin, isAbandoned, isHijacked, isInjected, isInjectedWhole } from './fastify-internals.js';
import { checkSendable, discard, FailedRequest, goOnAfter, ignoreErrors, keepsUntilRead } from './reply.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The application container; it is not there where the plugin was given a function. */
    container: IContainer;
  }

  interface FastifyRequest {
    /** The request's scope, tagged `request`. It is there from the `onRequest` hook of the plugin on. */
    container: IContainer;
  }
}

/** The container, how request scopes are opened and disposed, and how many requests are taken on. */
export interface ContainerPluginOptions extends LoadOptions, RequestOptions<FastifyRequest> {
  /**
   * The application container, which becomes `server.container`, and which `server.close()` disposes; or a function of the
   * request that returns the scope above the request's: then the server has no `container`, and what the function returns
   * is disposed by the code that made it.
   */
  readonly container: ParentScope<FastifyRequest>;
  /**
   * When the request scope of a failed request is disposed. `error`, the default: before the error handler runs.
   * `response`: with the response, for error handlers that resolve from the scope.
   */
  readonly disposeOn?: 'error' | 'response';
  /**
   * How long an error response waits until the request scope is disposed, and `close()` until injected requests have their
   * responses and the work of `inScope(container, ...)` has finished, then until the application container is disposed.
   * Default 10 s; `Infinity` for no limit. Then `onDisposeError` is called with `AMBIT_HTTP_DISPOSE_TIMEOUT`, or `close()` rejects with it.
   */
  readonly disposeTimeoutMs?: number;
  /**
   * How long `close()` leaves idle connections open, so that a request that is on its way already gets a response, with
   * `Connection: close`. Default 0.
   */
  readonly keepIdleMs?: number;
  /** Called when a request scope failed to dispose. Default: the request's log. */
  readonly onDisposeError?: (error: unknown, request: FastifyRequest) => unknown;
}

/**
 * Gives every request a scope tagged `request` as `request.container`, and disposes it exactly once, also for clients
 * that leave. `server.close()` waits for the responses in progress, then disposes the application container.
 *
 * In the scope, `IRequestSignal` is an `AbortSignal` that aborts when the client has disconnected.
 *
 * @param instance - the server; `server.register(containerPlugin, options)` passes it
 * @param opts - the options that `server.register()` received
 * @throws `HttpError` `AMBIT_OPTION`: an option is invalid. As a rejection of `server.register()` or `server.ready()`
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { fastify } from 'fastify';
 *
 * const server = fastify();
 * await server.register(containerPlugin, { container: new Container({ tags: ['application'] }) });
 * server.get('/disconnected', (request) => request.container.resolve('IRequestSignal').aborted);
 * ```
 */
export const containerPlugin: FastifyPluginAsync<ContainerPluginOptions> = definePlugin({
  name: 'container',
  plugin: registerContainer,
});

function registerContainer(server: FastifyInstance, options: ContainerPluginOptions): void {
  const {
    container,
    disposeOn,
    disposeTimeoutMs = 10_000,
    isEssential,
    keepIdleMs,
    onDisposeError = logDisposeError,
    ...scopeOptions
  } = checked(options);
  const connections = ServerConnections.of(server.server);
  const report = async (error: unknown, request: FastifyRequest): Promise<void> => {
    try {
      await onDisposeError(error, request);
    } catch (failure) {
      logDisposeError(failure, request);
    }
  };
  const host = RequestHost.over<FastifyRequest>(
    container,
    {
      ...scopeOptions,
      ...(isEssential && { isEssential: ({ raw }) => isEssential(raw) }),
      onDisposeError: report,
      callsComplete: true,
      rollbackBeforeDisposal: ({ [STATE]: state }, transaction, reason) =>
        state ? state.close(transaction, reason) : transaction.rollback(reason),
      connections,
      isAbandoned,
    },
    'register(containerPlugin, { container })',
  );
  const limit = (onPassed: (late: HttpError) => void): TimeLimit => ({
    ms: disposeTimeoutMs,
    onPassed: () => {
      const late = new HttpError('AMBIT_HTTP_DISPOSE_TIMEOUT', `after ${disposeTimeoutMs} ms`);
      onPassed(late);
      return late;
    },
  });

  refuseUnseenRoutes(server);
  server.decorateRequest('container', null as unknown as IContainer);
  server.decorateRequest(STATE, null);

  server.addHook('onRequest', (request, reply, done) => {
    const connected = new ConnectedRequest(request.raw, reply.raw, host, request);
    request[STATE] = new FastifyRequestState(connected, reply);
    connected.open((error) => {
      const { scope } = connected;
      if (scope) request.container = scope;
      done(error as Error);
    });
  });

  server.addHook('onResponse', ({ [STATE]: active }, { raw }, done) => {
    // Injected requests have their whole response before `writableFinished` says so.
    if (active) active.connected.complete(!active.connected.isWhole && !isInjectedWhole(raw));
    done();
  });
  // A hook before ours that fails keeps the one above from being run.
  connections.startReaping();

  if (disposeOn !== 'response') {
    server.addHook('onError', (request, _reply, error, done) => {
      // Without `done` no error handler is called, and nothing is logged: nobody waits for a response.
      if (!request[STATE]?.connected.isOfDisconnect(error)) done();
    });
    server.addHook('onError', (request, reply, error, done) => {
      const timeLimit = limit((late) => void report(late, request));
      goOnAfter(request[STATE]?.connected.dispose(error), reply, done, { limit: timeLimit });
    });
  }

  server.addHook('preClose', async () => {
    connections.close(keepIdleMs);
    await connections.acceptWaiting();
  });
  // Fastify closes in the reverse order: the requests first, then what they used.
  if (typeof container !== 'function') {
    server.decorate('container', container);
    server.addHook('preClose', (done) => {
      // It is awaited below: the requests in progress finish meanwhile.
      void drainScopes(container, { timeoutMs: disposeTimeoutMs });
      done();
    });
    server.addHook('onClose', async () => {
      await drainScopes(container, { timeoutMs: disposeTimeoutMs });
      const disposing = container.dispose();
      if (disposing)
        await settleWithin(
          disposing,
          limit(() => undefined),
        );
    });
  }
  server.addHook('onClose', async () => {
    // The server knows of no injected requests, so `close()` waits for them here.
    const injected = [...connections.requests()].filter(({ res }) => isInjected(res));
    for (const connected of injected) if (isHijacked(requestOf(connected)[STATE]?.reply)) connected.complete(true);
    const inProgress = injected.filter(({ isOut }) => !isOut);
    const finished = Promise.all(inProgress.map((connected) => connected.whenCompleted()));
    // The handler may never respond, and there is no client that would leave.
    const timeLimit = limit((late) => {
      for (const connected of inProgress) if (!connected.isOut) void report(late, requestOf(connected));
    });
    await settleWithin(finished, timeLimit).catch(() => undefined);
    for (const connected of inProgress) connected.complete(true);
    // On `localhost` Fastify listens twice, and waits for one of the two.
    await connections.whenFinished();
    connections.closed();
  });
}

const requestOf = ({ request }: ConnectedRequest): FastifyRequest => request as FastifyRequest;

/** Where the handler resolves from the request scope, a transaction that never began would be missed by nobody. */
function refuseUnseenRoutes(server: FastifyInstance): void {
  const unseen = new Set<RouteOptions>();
  server.decorate(UNSEEN_ROUTES, unseen);
  server.addHook('onRoute', (route) => {
    if (route.config?.transaction) unseen.add(route);
  });
  server.addHook('onReady', (done) => {
    const [route] = unseen;
    if (!route) return done();
    const what = `${String(route.method)} ${route.url} has config.transaction, and was added where transactionPlugin was not registered yet, or is not: register that first, and await it`;
    done(invalidOption(what));
  });
}

function checked(options: ContainerPluginOptions): ContainerPluginOptions {
  const { disposeOn = 'error' } = options;
  checkTimes(options, 'disposeTimeoutMs', 'keepIdleMs');
  checkFunctions(options, 'onDisposeError', 'isEssential');
  if (disposeOn === 'error' || disposeOn === 'response') return options;
  throw invalidOption(`disposeOn must be 'error' or 'response', not '${String(disposeOn)}'`);
}

function logDisposeError(error: unknown, request: FastifyRequest): void {
  request.log.error({ err: error }, 'The request scope failed to dispose');
}

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
  return transactionScopeOf(request, 'call and await request.startTransaction() first');
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Runs the handler of the route in a transaction: BEGIN before it, COMMIT before its response is sent. */
    readonly transaction?: boolean | RouteTransactionOptions;
  }
}

/** The options of every transaction, unless `startTransaction(options)` or the route says otherwise. */
export interface TransactionPluginOptions extends Omit<RequestTransactionOptions<never>, 'onError'> {
  /** Called with failures that change no outcome. Default: the request's log. */
  readonly onError?: (error: TransactionError, request: FastifyRequest) => void;
}

/** The options of a route with `config: { transaction: ... }`; for what they leave open, the plugin's options hold. */
export type RouteTransactionOptions = TransactionPluginOptions;

declare module 'fastify' {
  interface FastifyRequest {
    /** The scope tagged `transaction`, from `startTransaction()` to `commitTransaction()` or `rollbackTransaction()`. */
    readonly transactionScope?: IContainer | undefined;
    /**
     * Begins a transaction on a connection of its own; a request has one at a time. Rejects with nothing left behind.
     *
     * @param options - the options of the transaction. Default: those of the plugin
     * @returns the scope tagged `transaction`, in which `IConnection` is its connection
     * @throws `HttpError` `AMBIT_TX_ALREADY_OPEN`: the request has a transaction already; `AMBIT_DISPOSED`: it has
     *   finished; `AMBIT_HTTP_HEAD_SENT`: its response has begun. `TransactionError`: no connection could be acquired, or BEGIN
     *   failed. `ContainerError`: there is no `IDatabasePool`
     */
    startTransaction(
      options?: Omit<TransactionOptions, 'readOnly'> & Pick<RequestTransactionOptions, 'readOnly'>,
    ): Promise<IContainer>;
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
 * @throws `HttpError` or `TransactionError` `AMBIT_OPTION`: an option is invalid; of `config.transaction`,
 *   from `server.route()`
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

function registerTransaction(server: FastifyInstance, own: TransactionPluginOptions): void {
  // Options that a route replaces, such as `onError`, are checked, too.
  prepareTransactionOptions(own);
  const outer = server[TRANSACTIONS]?.options;
  const options = { onError: logFailure, ...outer, ...own };
  server[TRANSACTIONS] = { options, prepare: prepareTransactionOptions<FastifyRequest>(options) };
  if (outer) return;

  server.decorateRequest('transactionScope', {
    getter(this: FastifyRequest) {
      return this[STATE]?.transaction?.current?.scope;
    },
  });
  server.decorateRequest('startTransaction', function (others) {
    const active = this[STATE];
    const defaults = this.server[TRANSACTIONS];
    if (!active || !defaults) return Promise.reject(new HttpError('AMBIT_DISPOSED'));
    if (!others) return active.begin(defaults.prepare(this), { isOfRoute: false });
    const { rollbackOn: _, ...terms } = defaults.options;
    const prepare = prepareTransactionOptions<FastifyRequest>({ ...terms, ...others });
    return active.begin(prepare(this), { isOfRoute: false });
  });
  server.decorateRequest('commitTransaction', function () {
    return this[STATE]?.commit() ?? Promise.reject(new HttpError('AMBIT_HTTP_NO_TRANSACTION'));
  });
  server.decorateRequest('rollbackTransaction', function () {
    return this[STATE]?.rollback(undefined) ?? Promise.resolve();
  });

  addRouteTransactions(server);

  // The hook also runs after a response was sent: then there is no transaction left, and nothing happens.
  server.addHook('onError', (request, reply, error, done) => {
    const active = request[STATE];
    if (!active) return done();
    active.hasResponse = true;
    if (active.transaction || active.failedStep || active.isRolledBack) active.failed ??= new FailedRequest(error);
    if (active.failedStep) active.takeBackHead(error);
    active.leaveScope();
    const { failed } = active;
    failed?.resetStatus(reply);
    const goOn: (failure?: Error) => void = done;
    goOnAfter(active.transaction && active.rollback(error), reply, (failure) => {
      if (!failed || failure) return goOn(failure);
      failed.isHandling = true;
      try {
        active.runErrorHandler(goOn);
      } finally {
        failed.isHandling = false;
      }
    });
  });

  server.addHook('onSend', (request, reply, payload, done) => {
    const active = request[STATE];
    if (!active) return done();
    active.hasResponse = true;
    const { transaction } = active;
    if (active.isRolledBack) active.connected.respondedWith(reply.statusCode);
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
  readonly active: FastifyRequestState;
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

/** Routes with `config: { transaction: ... }` run in a transaction that begins behind all their other hooks. */
function addRouteTransactions(server: FastifyInstance): void {
  const beginners = new WeakSet<object>();
  const beginnerOf = (options: RouteTransactionOptions): preHandlerHookHandler => {
    const prepare = prepareTransactionOptions<FastifyRequest>(options);
    const begin: preHandlerHookHandler = (request, _reply, done) => {
      const active = request[STATE];
      if (!active) return done();
      const begun = (scope: IContainer): void => {
        active.runIn(scope, done);
      };
      const failed = (error: unknown): void => done(error as Error);
      inOwnContext(() => void active.begin(prepare(request), { isOfRoute: true }).then(begun, failed));
    };
    beginners.add(begin);
    return begin;
  };
  // This hook runs behind those of the plugins and of the route, which may replace the payload.
  const commit: onSendHookHandler = (request, reply, payload, done) => {
    const active = request[STATE];
    const transaction = active?.isOfRoute && active.transaction;
    if (active && transaction) commitFirst({ active, reply, payload: keepsUntilRead(payload), transaction }, done);
    else done();
  };
  server.addHook('onRoute', function (route) {
    const options = optionsOf(route.config?.transaction);
    if (!options) return;
    server[UNSEEN_ROUTES].delete(route);
    const before = listOf(route.preHandler);
    // The HEAD route that Fastify adds to one of GET has the hooks of that.
    if (before.some((hook) => beginners.has(hook))) return;
    route.preHandler = [...before, beginnerOf({ ...this[TRANSACTIONS]?.options, ...options })];
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
  readonly active: FastifyRequestState;
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
      if (transaction.rollbackOn(status)) await transaction.rollbackFor(status);
      else {
        await checkSendable(reply, payload);
        await transaction.commitFor(status);
      }
    } catch (error) {
      failure = error as Error;
      active.failed ??= new FailedRequest(error);
      await transaction.rollback(error);
      clearRepresentation(reply);
      discard(payload);
    }
    active.leaveScope();
  };
  const goOn = (thrown?: Error): void => {
    // The client gets the status that decided between COMMIT and ROLLBACK, whatever the handler has set meanwhile.
    if (!(thrown ?? failure) && reply.statusCode !== decided) reply.code(decided);
    settle(done, payload, thrown ?? failure);
  };
  goOnAfter(close(), reply, goOn, { payload });
}
