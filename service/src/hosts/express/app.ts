import { createServer } from 'node:http';
import { parse } from 'node:querystring';
import type { IContainer } from '@ambit/container';
import { containerMiddleware, drain } from '@ambit/express';
import { inspector } from '@ambit/inspector/express';
import express, { type Express, type RequestHandler } from 'express';
import { unrouted } from '../../http/endpoints.js';
import { isEssential } from '../../http/essential.js';
import { simplifyTargets } from '../../http/request-address.js';
import { answerClientError, limitServer, SERVER_OPTIONS } from '../../http/server-limits.js';
import { type Host, type HostOptions, urlOf } from '../host.js';
import { answerErrors } from './errors.js';
import { healthRoutes } from './health.js';
import { jsonBody } from './json-body.js';
import { logLate } from './log-late.js';
import { metricsRoutes } from './metrics.js';
import { orderRoutes } from './orders.js';
import { referenceRoutes } from './reference.js';
import { requestHead } from './request-head.js';
import { userRoutes } from './users.js';

/** Variant M: the API as an Express application. The container may be one of fakes. */
export function createExpressApp(container: IContainer, options: HostOptions): Express {
  const { logger, telemetry, inspect } = options;
  const app = express();
  app.disable('x-powered-by');
  // What Fastify does not do, or does in another way.
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', (text: string) => parse(text, '&', '=', { maxKeys: 0 }));
  Object.defineProperty(app.request, 'fresh', { value: false });

  const onDisposeError = logLate(logger, 'The request scope failed to dispose');
  if (inspect) app.use(inspector(inspect));
  app.use(containerMiddleware(container, { onDisposeError, isEssential }), requestHead(options), jsonBody);
  const refuseUnrouted = refuserOf(telemetry);
  // Express would answer OPTIONS by itself.
  app.options(/.*/, refuseUnrouted);
  app.use('/api/users', userRoutes());
  app.use('/api/orders', orderRoutes(options));
  app.use('/health', healthRoutes());
  app.use(referenceRoutes());
  if (telemetry?.metrics) app.use(metricsRoutes(telemetry.metrics));
  app.use(refuseUnrouted);
  app.use(answerErrors(options));
  return app;
}

const refuserOf =
  (telemetry: HostOptions['telemetry']): RequestHandler =>
  (req) => {
    throw unrouted(req.originalUrl, telemetry);
  };

export function createExpressHost(container: IContainer, options: HostOptions): Host {
  const server = createServer(SERVER_OPTIONS, createExpressApp(container, options));
  limitServer(server, options.logger);
  simplifyTargets(server);
  server.on('clientError', answerClientError(options.logger));
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
      await drain(server, { timeoutMs });
      await container.dispose();
    },
  };
}
