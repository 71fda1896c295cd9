import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorResponse, errorResponse, respondToFailure } from '../../http/error-response.js';
import { logRequest } from '../../http/request-head.js';
import { newId } from '../../ids.js';
import type { ILogger } from '../../logging/logger.js';
import type { HostOptions } from '../host.js';

export function handleErrors(server: FastifyInstance, options: HostOptions): void {
  const respond = responderTo(options);
  server.setErrorHandler((error, request, reply) => send(reply, respond(error, request, reply)));
}

export function responderTo(options: HostOptions) {
  return (error: unknown, { container }: FastifyRequest, reply: FastifyReply): ErrorResponse =>
    respondToFailure(options, { requestId: reply.getHeader('x-request-id'), container, res: reply.raw }, error);
}

/** For an address that Fastify cannot decode: no hook has run, so the request has no id yet. */
export function handleUndecodable({ logger }: HostOptions) {
  return (error: Error, { raw }: FastifyRequest, reply: FastifyReply): void => {
    const requestId = newId();
    logRequest(logger, { requestId }, raw, reply.raw);
    void send(reply.header('x-request-id', requestId), errorResponse(error));
  };
}

/** Logs an error that cannot change the response any more. */
export function logError(logger: ILogger, msg: string) {
  return (err: unknown, { id: requestId }: FastifyRequest): void => logger.error({ msg, requestId, err });
}

function send(reply: FastifyReply, { status, headers, body }: ErrorResponse): FastifyReply {
  return reply.code(status).headers(headers).send(body);
}
