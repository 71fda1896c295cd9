import { randomUUID } from 'node:crypto';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { logLine } from '../hand-written.mjs';
import { startNest } from '../nest.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'NestJS, Fastify',
  package: '@nestjs/core',
  start: () =>
    startNest(new FastifyAdapter({ genReqId: () => randomUUID() }), (app, log) => {
      const server = app.getHttpAdapter().getInstance();
      server.addHook('onRequest', (request, reply, done) => {
        reply.header('x-request-id', request.id);
        done();
      });
      server.addHook('onResponse', ({ id, method, url }, reply, done) => {
        log.info(logLine(id, method, url, reply.statusCode, reply.elapsedTime));
        done();
      });
    }),
};
