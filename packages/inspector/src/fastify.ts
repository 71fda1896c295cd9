import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { Inspector } from './inspector.js';
import { type InspectorOptions, settingsOf } from './options.js';

/**
 * Serves the inspector at its path. Register it before `containerPlugin`, so that requests of the page open no scope.
 *
 * @param instance - the server; `server.register(inspectorPlugin, options)` passes it
 * @param opts - the container, and where and for whom the page is
 * @throws `ContainerError` `AMBIT_OPTION`: an option is invalid. As a rejection of `server.register()` or `server.ready()`
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { inspectorPlugin } from '@ambit/inspector/fastify';
 * import { fastify } from 'fastify';
 *
 * const server = fastify();
 * const container = new Container({ tags: ['application'] });
 * await server.register(inspectorPlugin, { container, scopes: { tags: ['request'] } });
 * ```
 */
export const inspectorPlugin: FastifyPluginAsync<InspectorOptions> = Object.assign(
  async (server: FastifyInstance, options: InspectorOptions): Promise<void> => {
    const inspected = new Inspector(options);
    if (!inspected.enabled) return;
    server.addHook('onRequest', (request, reply, done) => {
      if (inspected.owns(request.raw)) {
        reply.hijack();
        inspected.handle(request.raw, reply.raw);
      } else if (inspected.watching) {
        const route = (): string | undefined => request.routeOptions.url;
        inspected.follow({ raw: request.raw, route }, reply.raw, done);
      } else done();
    });
    // Otherwise the log of the application has two lines for each look of a page.
    const { path } = settingsOf(options);
    // For `@fastify/swagger`.
    const schema: object = { hide: true };
    for (const url of [path, `${path}/*`])
      server.route({ method: ['GET', 'POST'], url, logLevel: 'silent', schema, handler: () => undefined });
    server.addHook('onError', (_request, _reply, error, done) => {
      inspected.failed(error);
      done();
    });
  },
  {
    // The package `fastify-plugin` sets these: the hooks then apply to the context that registers the plugin.
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: 'inspector',
    [Symbol.for('plugin-meta')]: { name: 'inspector', fastify: '5.x' },
  },
);
