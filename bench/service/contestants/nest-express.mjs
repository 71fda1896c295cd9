import { randomUUID } from 'node:crypto';
import { ExpressAdapter } from '@nestjs/platform-express';
import { logLine } from '../hand-written.mjs';
import { startNest } from '../nest.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'NestJS, Express',
  package: '@nestjs/core',
  start: () =>
    startNest(new ExpressAdapter(), (app, log) => {
      app.disable('x-powered-by');
      app.disable('etag');
      app.use((req, res, next) => {
        const start = performance.now();
        req.id = randomUUID();
        res.setHeader('x-request-id', req.id);
        res.once('finish', () =>
          log.info(logLine(req.id, req.method, req.originalUrl, res.statusCode, performance.now() - start)),
        );
        next();
      });
    }),
};
