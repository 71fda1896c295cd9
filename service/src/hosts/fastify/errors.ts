import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerTo, type ErrorAnswer } from '../../http/error-answer.js';
import { answerAndLog, logRequest } from '../../http/request-log.js';
import type { HostOptions } from '../host.js';

export function answerErrors(server: FastifyInstance, options: HostOptions): void {
  const answer = answerAndLogWith(options);
  server.setErrorHandler((error, request, reply) => send(reply, answer(error, request, reply)));
}

/** Logs an error with the ids of its request, and gives the response to it. */
export function answerAndLogWith(options: HostOptions) {
  return (error: unknown, { container }: FastifyRequest, reply: FastifyReply): ErrorAnswer => {
    const ids = { requestId: reply.getHeader('x-request-id'), ...options.telemetry?.traceIdsOf(container) };
    return answerAndLog(options, ids, error, reply.raw);
  };
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
