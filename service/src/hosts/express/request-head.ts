import { resolve } from '@ambit/express';
import type { RequestHandler } from 'express';
import { Problem } from '../../problem.js';
import { plainAddress, refuseWithoutHost } from '../../http/request-address.js';
import { logRequest } from '../../http/request-log.js';
import type { HostOptions } from '../host.js';

/** What every request begins with, whatever its address: an id, a line in the log, and who asks. */
export function requestHead({ logger, identify, telemetry }: HostOptions): RequestHandler {
  return async (req, res, next) => {
    const context = resolve(req, 'IRequestContext');
    res.setHeader('x-request-id', context.requestId);
    const trace = telemetry?.traceIdsOf(req.container);
    if (trace) context.trace = trace;
    logRequest(logger, context, req, res);
    refuseWithoutHost(req);
    refuseBadPath(req.path);
    req.url = plainAddress(req.url);
    const userId = identify ? await identify(req) : undefined;
    if (userId !== undefined) context.setUserId(userId);
    next();
  };
}

/** Express decodes only the parts of a path that are parameters. */
function refuseBadPath(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw new Problem(400, 'The request is malformed');
  }
}
