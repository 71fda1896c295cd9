import type { ErrorRequestHandler, Request } from 'express';
import { respondToFailure } from '../../http/error-response.js';
import type { ILogger } from '../../logging/logger.js';
import type { HostOptions } from '../host.js';

export function handleErrors(options: HostOptions): ErrorRequestHandler {
  // Express recognizes error handlers by their four parameters.
  return (error, req, res, _next) => {
    const failed = { requestId: res.getHeader('x-request-id'), container: req.container, res };
    const { status, headers, body } = respondToFailure(options, failed, error);
    if (res.headersSent) {
      // Express's own handler would do the same, and write the stack to stderr.
      req.socket.destroy();
      return;
    }
    // Set before COMMIT, which then failed.
    res.removeHeader('idempotency-replayed');
    res.status(status).set(headers).json(body);
  };
}

/** Logs an error that cannot change the response any more. */
export function logError(logger: ILogger, msg: string) {
  return (err: unknown, { res }: Request): void =>
    logger.error({ msg, requestId: res?.getHeader('x-request-id'), err });
}
