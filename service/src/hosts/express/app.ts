import { createServer } from 'node:http';
import type { IContainer } from '@ambit/container';
import { containerMiddleware, drain } from '@ambit/express';
import { inspector } from '@ambit/inspector/express';
import express, { type Express, type RequestHandler } from 'express';
import { simplifyTargets } from '../../http/request-head.js';
import { limitServer, respondToClientError, SERVER_OPTIONS } from '../../http/server-limits.js';
import { isEssential, serviceRoutes } from '../../http/service-routes.js';
import { unrouted } from '../../http/unrouted.js';
import { type Host, type HostOptions, urlOf } from '../host.js';
import { handleErrors, logError } from './errors.js';
import { jsonBody, parseQuery, requestHead } from './middleware.js';
import { orderRoutes } from './orders.js';
import { userRoutes } from './users.js';

/** The API as an Express application. The container may hold fakes. */
export function createExpressApp(container: IContainer, options: HostOptions): Express {
  const { logger, telemetry, inspect, sandboxes } = options;
  const app = express();
  // These make Express respond as Fastify does.
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', parseQuery);
  Object.defineProperty(app.request, 'fresh', { value: false });

  const onDisposeError = logError(logger, 'The request scope failed to dispose');
  if (inspect) app.use(inspector(inspect));
  const parent = sandboxes?.scopeOf ?? container;
  app.use(containerMiddleware(parent, { onDisposeError, isEssential }), requestHead(options), jsonBody);
  const refuseUnrouted: RequestHandler = (req) => {
    throw unrouted(req.originalUrl, telemetry);
  };
  // Express would respond to OPTIONS itself.
  app.options(/.*/, refuseUnrouted);
  app.use('/api/users', userRoutes());
  app.use('/api/orders', orderRoutes(options));
  for (const { method, path, respond } of serviceRoutes(options)) {
    app[method](path, async (req, res) => {
      const { status, headers, body } = await respond(req);
      res.status(status).set(headers).end(body);
    });
  }
  app.use(refuseUnrouted);
  app.use(handleErrors(options));
  return app;
}

export function createExpressHost(container: IContainer, options: HostOptions): Host {
  const server = createServer(SERVER_OPTIONS, createExpressApp(container, options));
  limitServer(server, options.logger);
  simplifyTargets(server);
  server.on('clientError', respondToClientError(options.logger));
  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve(urlOf(server));
        });
      }),
    close: async (timeoutMs) => {
      await drain(server, { timeoutMs, keepIdleMs: options.keepIdleMs ?? 0 });
      await container.dispose();
    },
  };
}
