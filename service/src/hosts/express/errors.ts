import type { ErrorRequestHandler } from 'express';
import { answerAndLog } from '../../http/request-log.js';
import type { HostOptions } from '../host.js';

export function answerErrors(options: HostOptions): ErrorRequestHandler {
  // Express recognises error handlers by their four parameters.
  return (error, req, res, _next) => {
    const ids = { requestId: res.getHeader('x-request-id'), ...options.telemetry?.traceIdsOf(req.container) };
    const { status, headers, body } = answerAndLog(options, ids, error, res);
    if (res.headersSent) {
      // Express's own handler would do the same, and write the stack to stderr.
      req.socket.destroy();
      return;
    }
    // It was said in the hope of a COMMIT.
    res.removeHeader('idempotency-replayed');
    res.status(status).set(headers).json(body);
  };
}
