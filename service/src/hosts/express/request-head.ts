import { resolve } from '@ambit/express';
import type { RequestHandler } from 'express';
import { Problem } from '../../problem.js';
import { pathOf, plainPath, refuseWithoutHost } from '../../http/request-address.js';
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
    if (req.url.includes('%')) req.url = comparable(req.url);
    const userId = identify ? await identify(req) : undefined;
    if (userId !== undefined) context.setUserId(userId);
    next();
  };
}

/** Express decodes only the parts of a path that are parameters, and compares the others as they are written. */
function comparable(target: string): string {
  const path = pathOf(target);
  try {
    decodeURIComponent(path);
  } catch {
    throw new Problem(400, 'The request is malformed');
  }
  return plainPath(path) + target.slice(path.length);
}
