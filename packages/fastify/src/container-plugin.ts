import type { IContainer } from '@ambit/container';
import { drainScopes } from '@ambit/container/work';
import {
  checkFunctions,
  checkTimes,
  Connections,
  invalidOption,
  Load,
  type LoadOptions,
  type ParentScope,
  type RequestHost,
  type RequestOptions,
  scopeOpener,
  HttpError,
  type TimeLimit,
  within,
} from '@ambit/http/host';
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest, RouteOptions } from 'fastify';
import { ACTIVE_REQUEST, FastifyActiveRequest, UNSEEN_ROUTES } from './active-request.js';
import { definePlugin, isHijacked, isInjected } from './fastify-internals.js';
import { goOnAfter } from './reply.js';

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
   * How long `close()` leaves idle connections open, so that a request that is on its way already gets a response, with `Connection: close`.
   * Default 0.
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
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: an option is invalid. As a rejection of `server.register()` or `server.ready()`
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
    keepIdleMs,
    onDisposeError = logDisposeError,
  } = checked(options);
  const opener = scopeOpener(container, {
    ...options,
    caller: 'register(containerPlugin, { container })',
    requestOf: (request) => (request as FastifyActiveRequest).reply.request,
  });
  const connections = Connections.of(server.server);
  const report = async (error: unknown, request: FastifyRequest): Promise<void> => {
    try {
      await onDisposeError(error, request);
    } catch (failure) {
      logDisposeError(failure, request);
    }
  };
  const host: RequestHost = {
    load: new Load(options),
    callsFinish: true,
    connections,
    onDisposeError: (error, request) => void report(error, (request as FastifyActiveRequest).reply.request),
  };
  const limit = (onPassed: (late: HttpError) => void): TimeLimit => ({
    ms: disposeTimeoutMs,
    onPassed: () => {
      const late = new HttpError('AMBIT_HTTP_DISPOSE_TIMEOUT', `after ${disposeTimeoutMs} ms`);
      onPassed(late);
      return late;
    },
  });

  /** Those in progress: the server knows of none, so `close()` waits for them here. */
  const injected = new Set<FastifyActiveRequest>();

  refuseUnseenRoutes(server);
  server.decorateRequest('container', null as unknown as IContainer);
  server.decorateRequest(ACTIVE_REQUEST, null);

  server.addHook('onRequest', (request, reply, done) => {
    const active = new FastifyActiveRequest(reply, host);
    request[ACTIVE_REQUEST] = active;
    if (isInjected(reply.raw)) {
      injected.add(active);
      void active.whenFinished().then(() => injected.delete(active));
    }
    active.open(opener, (error) => {
      if (active.scope) request.container = active.scope;
      done(error as Error);
    });
  });

  server.addHook('onResponse', (request, _reply, done) => {
    request[ACTIVE_REQUEST]?.lose();
    done();
  });
  // A hook before ours that fails keeps the one above from being run.
  connections.startReaping();

  if (disposeOn !== 'response') {
    server.addHook('onError', (request, _reply, error, done) => {
      // Without `done` no error handler is called, and nothing is logged: nobody waits for a response.
      if (!request[ACTIVE_REQUEST]?.isOfDisconnect(error)) done();
    });
    server.addHook('onError', (request, reply, error, done) => {
      const timeLimit = limit((late) => void report(late, request));
      goOnAfter(request[ACTIVE_REQUEST]?.active.dispose(error), reply, done, { limit: timeLimit });
    });
  }

  server.addHook('preClose', (done) => {
    connections.close(keepIdleMs);
    done();
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
        await within(
          disposing,
          limit(() => undefined),
        );
    });
  }
  server.addHook('onClose', async () => {
    for (const active of injected) if (isHijacked(active.reply)) active.finish(true);
    const inProgress = [...injected].filter(({ isFinished }) => !isFinished);
    const finished = Promise.all(inProgress.map((active) => active.whenFinished()));
    // The handler may never respond, and there is no client that would leave.
    const timeLimit = limit((late) => {
      for (const active of inProgress) if (!active.isFinished) void report(late, active.reply.request);
    });
    await within(finished, timeLimit).catch(() => undefined);
    for (const active of inProgress) active.finish(true);
    // On `localhost` Fastify listens twice, and waits for one of the two.
    await connections.whenFinished();
    connections.closed();
  });
}

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
