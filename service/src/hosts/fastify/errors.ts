import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerTo, type ErrorAnswer } from '../../http/error-answer.js';
import { answerAndLog, logRequest } from '../../http/request-log.js';
import type { HostOptions } from '../host.js';

export function answerErrors(server: FastifyInstance, { logger, telemetry }: HostOptions): void {
  server.setErrorHandler((error, request, reply) => {
    const ids = { requestId: reply.getHeader('x-request-id'), ...telemetry?.traceIdsOf(request.container) };
    return send(reply, answerAndLog(logger, ids, error, reply.raw));
  });
}

/** For an address that Fastify cannot read: no hook has run, so nothing has given the request an id. */
export function answerUnreadable({ logger }: HostOptions) {
  return (error: Error, { raw }: FastifyRequest, reply: FastifyReply): void => {
    const requestId = randomUUID();
    logRequest(logger, { requestId }, raw, reply.raw);
    void send(reply.header('x-request-id', requestId), answerTo(error));
  };
}

function send(reply: FastifyReply, { status, headers, body }: ErrorAnswer): FastifyReply {
  return reply.code(status).headers(headers).send(body);
}
