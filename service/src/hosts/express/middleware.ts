import { parse } from 'node:querystring';
import type { Request, RequestHandler } from 'express';
import { readJsonBody } from '../../http/json-body.js';
import {
  beginRequest,
  identifyCaller,
  mayHaveBody,
  normalizedPath,
  pathOf,
  requireHostHeader,
} from '../../http/request-head.js';
import { Problem } from '../../problem.js';
import type { HostOptions } from '../host.js';

/** Runs before the handler of each request, whatever its address. */
export function requestHead(options: HostOptions): RequestHandler {
  const { identify } = options;
  return async (req, res, next) => {
    const context = beginRequest(options, req.container, req, res);
    res.setHeader('x-request-id', context.requestId);
    requireHostHeader(req);
    if (req.url.includes('%')) req.url = decodable(req.url);
    if (identify) await identifyCaller(identify, req, context);
    next();
  };
}

export const jsonBody: RequestHandler = async (req, _res, next) => {
  if (mayHaveBody(req)) req.body = await readJsonBody(req);
  next();
};

/**
 * The body, removed from the request: Express passes an error out of a router with `setImmediate`, and would keep the bodies
 * of all requests that are refused in the meantime.
 */
export function takeBody(req: Request): unknown {
  const { body } = req;
  req.body = undefined;
  return body;
}

/** Parses a query as Fastify does. */
export const parseQuery = (text: string): object => parse(text, '&', '=', { maxKeys: 0 });

/** Express decodes only the parameters of a path, and compares the rest as it was sent. */
function decodable(target: string): string {
  const path = pathOf(target);
  try {
    decodeURIComponent(path);
  } catch {
    throw new Problem(400, 'The request is malformed');
  }
  return normalizedPath(path) + target.slice(path.length);
}
