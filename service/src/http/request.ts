import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { IContainer } from '@ambit/container';
import type { IRequestContext } from '../ids.js';
import type { HostOptions } from '../hosts/host.js';
import type { ILogger } from '../logging/logger.js';
import { Problem } from '../problem.js';

/** Health checks and scrapes are logged at level `debug`. */
const QUIET = /^\/(?:health\/|metrics$)/;

/** Both hosts begin every request with this, whatever its address: it gets an id, and is logged when it is finished. */
export function beginRequest(
  { logger, telemetry }: HostOptions,
  container: IContainer,
  req: IncomingMessage,
  res: ServerResponse,
): IRequestContext {
  const context = container.resolve('IRequestContext');
  const trace = telemetry?.traceIdsOf(container);
  if (trace) context.trace = trace;
  logRequest(logger, context, req, res);
  return context;
}

/**
 * One line for each request, when its response is sent or its client has disconnected. Requests that are queued behind
 * another one when their connection is lost have no line: Node emits no event for their responses.
 */
export function logRequest(
  logger: ILogger,
  context: Pick<IRequestContext, 'requestId' | 'userId' | 'trace'>,
  req: IncomingMessage,
  res: ServerResponse,
): void {
  const start = performance.now();
  const { method } = req;
  // A query can hold personal data.
  const path = pathOf(req.url ?? '');
  res.on('close', () => {
    const ms = Math.round((performance.now() - start) * 100) / 100;
    const msg = res.writableFinished ? 'request' : 'request aborted';
    const { requestId, userId, trace } = context;
    // Before the head is sent, the status is Node's default, or one that a failed COMMIT would still change.
    const status = res.headersSent ? res.statusCode : undefined;
    const inspector = res.getHeader('x-debug-token-link');
    const record = { msg, requestId, userId, ...trace, method, path, status, ms, inspector };
    if (QUIET.test(path)) logger.debug(record);
    else logger.info(record);
  });
}

/** Refuses a request to which Node would respond without a body, an id and a line in the log. */
export function checkHead({ headers: { host, expect }, httpVersion }: IncomingMessage): void {
  if (host === undefined && httpVersion === '1.1') throw new Problem(400, 'The request is malformed');
  if (expect !== undefined && !/100-continue/i.test(expect)) throw new Problem(417, 'The expectation cannot be met');
}

export async function identifyCaller(
  identify: NonNullable<HostOptions['identify']>,
  req: IncomingMessage,
  context: IRequestContext,
): Promise<void> {
  const userId = await identify(req);
  if (userId !== undefined) context.setUserId(userId);
}

/** Without the query. */
export function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end === -1 ? target : target.slice(0, end);
}
