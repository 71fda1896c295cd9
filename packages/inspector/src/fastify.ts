import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { Inspector } from './inspector.js';
import type { InspectorOptions } from './options.js';

/**
 * Serves the inspector at its path. Register it before `containerPlugin`, so that looking opens no request scope.
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
  async (server: FastifyInstance, options: InspectorOptions): Promise<void> => register(server, options),
  {
    // What the package `fastify-plugin` does: the hooks belong to the context that registers it.
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: 'inspector',
    [Symbol.for('plugin-meta')]: { name: 'inspector', fastify: '5.x' },
  },
);

/** The same as {@link inspectorPlugin}, under the name it had first. @alias */
export const inspector = inspectorPlugin;

function register(server: FastifyInstance, options: InspectorOptions): void {
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
  server.addHook('preClose', (done) => {
    inspected.close();
    done();
  });
}
