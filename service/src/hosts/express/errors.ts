import type { ErrorRequestHandler } from 'express';
import { answerAndLog } from '../../http/request-log.js';
import type { HostOptions } from '../host.js';

export function answerErrors({ logger, telemetry }: HostOptions): ErrorRequestHandler {
  return (error, req, res, next) => {
    const ids = { requestId: res.getHeader('x-request-id'), ...telemetry?.traceIdsOf(req.container) };
    const { status, headers, body } = answerAndLog(logger, ids, error, res);
    if (res.headersSent) return next(error);
    // It was said in the hope of a COMMIT.
    res.removeHeader('idempotency-replayed');
    res.status(status).set(headers).json(body);
  };
}
