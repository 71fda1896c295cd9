import type { IContainer } from '@ambit/container';
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import { finishBeforeErrors } from './client-errors.js';
import { Connections } from './connections.js';
import { closeSessionsOnClose, drainOnClose } from './drain.js';
import { HttpError } from './errors.js';
import { goOnAfter } from './go-on-after.js';
import { Load, type LoadOptions } from './load.js';
import { definePlugin } from './plugin.js';
import { RequestLife } from './request-life.js';
import { within } from './time-limit.js';

/** Where the plugins keep what only they need to know of a request. */
export const REQUEST_LIFE: unique symbol = Symbol('ambit.requestLife');

declare module 'fastify' {
  interface FastifyInstance {
    /** The application container. */
    container: IContainer;
  }

  interface FastifyRequest {
    /** The request's scope, tagged `request`. It is there from the `onRequest` hook of the plugin on. */
    container: IContainer;
    /** @internal */
    [REQUEST_LIFE]: RequestLife | null;
  }
}

declare module '@ambit/container' {
  interface ServiceMap {
    /** Aborts when the client is gone before it was answered. In every request scope. */
    IRequestSignal: AbortSignal;
  }
}

export interface ContainerPluginOptions extends LoadOptions {
  /** The application container; `server.close()` disposes it. */
  readonly container: IContainer;
  /**
   * When the request scope ends for a request that failed. `error`, the default: before the error handler runs.
   * `response`: with the answer, for error handlers that resolve from the scope.
   */
  readonly disposeOn?: 'error' | 'response';
  /**
   * How long an error response waits until the request scope is disposed, and `close()` until the application container
   * is. Default 10 s; `Infinity` for no limit. Then `onDisposeError` is called with `AMBIT_HTTP_DISPOSE_TIMEOUT`, or
   * `close()` rejects with it.
   */
  readonly disposeTimeoutMs?: number;
  /** Called when a request scope failed to dispose. Default: the request's log. */
  readonly onDisposeError?: (error: unknown, request: FastifyRequest) => unknown;
}

/**
 * Gives every request a scope tagged `request` as `request.container`, and ends it exactly once, also for clients that
 * go away. `server.close()` waits for the answers under way, then disposes the application container.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { fastify } from 'fastify';
 *
 * const server = fastify();
 * await server.register(containerPlugin, { container: new Container({ tags: ['application'] }) });
 * server.get('/gone', (request) => request.container.resolve('IRequestSignal').aborted);
 * ```
 */
export const containerPlugin: FastifyPluginAsync<ContainerPluginOptions> = definePlugin({
  name: 'container',
  plugin: registerContainer,
});

const TAGS = { tags: ['request'] };
const SWEEP_EVERY_MS = 500;

function registerContainer(server: FastifyInstance, options: ContainerPluginOptions): void {
  const { container, disposeOn, disposeTimeoutMs = 10_000, onDisposeError = logDisposeError } = checked(options);
  const connections = new Connections();
  const load = new Load(options);

  server.decorate('container', container);
  server.decorateRequest('container', null as unknown as IContainer);
  server.decorateRequest(REQUEST_LIFE, null);

  const report = async (error: unknown, request: FastifyRequest): Promise<void> => {
    try {
      await onDisposeError(error, request);
    } catch (failure) {
      logDisposeError(failure, request);
    }
  };

  server.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    const life = new RequestLife(reply, load, (error) => void report(error, request));
    request[REQUEST_LIFE] = life;
    connections.add(raw, life);
    life.inTurn((isTaken) => {
      if (!isTaken) {
        reply.header('retry-after', '1');
        return done(new HttpError('AMBIT_HTTP_OVERLOADED'));
      }
      let scope: IContainer | undefined;
      try {
        request.container = scope = container.createScope(TAGS);
        scope.register('IRequestSignal', () => life.signal);
      } catch (error) {
        return done(error as Error);
      } finally {
        if (scope) life.open(scope);
      }
      done();
    });
  });

  server.addHook('onResponse', (request, _reply, done) => {
    request[REQUEST_LIFE]?.over();
    done();
  });

  // A hook before ours that fails keeps the one above from being run.
  const sweeping = setInterval(() => connections.endAnswered(), SWEEP_EVERY_MS).unref();

  if (disposeOn !== 'response') {
    server.addHook('onError', (request, reply, error, done) => {
      const onPassed = (): Error => {
        const late = new HttpError('AMBIT_HTTP_DISPOSE_TIMEOUT', `after ${disposeTimeoutMs} ms`);
        void report(late, request);
        return late;
      };
      goOnAfter(request[REQUEST_LIFE]?.end(error), reply, done, { limit: { ms: disposeTimeoutMs, onPassed } });
    });
  }

  // Fastify closes in the reverse order: the requests first, then what they used.
  server.addHook('onClose', async () => {
    sweeping.close();
    const disposing = container.dispose();
    const onPassed = (): Error => new HttpError('AMBIT_HTTP_DISPOSE_TIMEOUT', `after ${disposeTimeoutMs} ms`);
    if (disposing) await within(disposing, { ms: disposeTimeoutMs, onPassed });
  });
  drainOnClose(server, connections);
  closeSessionsOnClose(server);
  finishBeforeErrors(server.server, (socket) => connections.finishOn(socket));
}

function checked(options: ContainerPluginOptions): ContainerPluginOptions {
  const { container, disposeOn = 'error', disposeTimeoutMs = 0 } = options;
  if (typeof container?.createScope !== 'function') {
    throw new HttpError(
      'AMBIT_HTTP_OPTION',
      'register(containerPlugin, { container }) needs the application container',
    );
  }
  if (disposeOn !== 'error' && disposeOn !== 'response') {
    throw new HttpError('AMBIT_HTTP_OPTION', `disposeOn must be 'error' or 'response', not '${String(disposeOn)}'`);
  }
  if (typeof disposeTimeoutMs !== 'number' || !(disposeTimeoutMs >= 0)) {
    throw new HttpError(
      'AMBIT_HTTP_OPTION',
      `disposeTimeoutMs must be a number of milliseconds, not '${String(disposeTimeoutMs)}'`,
    );
  }
  return options;
}

function logDisposeError(error: unknown, request: FastifyRequest): void {
  request.log.error({ err: error }, 'The request scope failed to dispose');
}
