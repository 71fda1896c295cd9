import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { IRequestContext } from '../audit/request-context.js';
import type { HostOptions } from '../hosts/host.js';
import type { ILogger } from '../logging/logger.js';
import { pathOf } from './request-address.js';
import { answerTo, type ErrorAnswer, isOurFault } from './error-answer.js';

/** What finds all lines of one request, its trace if there is one, and who asks once that is known. */
export type LoggedContext = Pick<IRequestContext, 'requestId' | 'userId' | 'trace'>;

/** What watches over a service is no news in its log. */
const QUIET = /^\/(?:health\/|metrics$)/;

/**
 * One line for each request, when its answer is out or its client is gone. Those that wait behind another when their
 * connection dies have none: Node does not tell their answers.
 */
export function logRequest(logger: ILogger, context: LoggedContext, req: IncomingMessage, res: ServerResponse): void {
  const start = performance.now();
  const { method } = req;
  // A query can hold what is nobody's business.
  const path = pathOf(req.url ?? '');
  res.on('close', () => {
    const ms = Math.round((performance.now() - start) * 100) / 100;
    const msg = res.writableFinished ? 'request' : 'request aborted';
    const { requestId, userId, trace } = context;
    // Until something is sent, the status is Node's default, or one that COMMIT may yet change.
    const status = res.headersSent ? res.statusCode : undefined;
    const record = { msg, requestId, userId, ...trace, method, path, status, ms };
    if (QUIET.test(path)) logger.debug(record);
    else logger.info(record);
  });
}

/** Gives the answer to an error; what is our fault goes to the log with everything known. */
export function answerAndLog(
  { logger, onFailure }: Pick<HostOptions, 'logger' | 'onFailure'>,
  ids: object,
  err: unknown,
  res: ServerResponse,
): ErrorAnswer {
  const answer = answerTo(err);
  if (isOurFault(err, answer)) {
    onFailure?.(err);
    const record = { msg: 'request failed', ...ids, status: answer.status, err };
    // That a client left is no failure. Of answers behind another, only the connection knows that it did.
    if ((res.destroyed || res.req.socket.destroyed) && endedWithClient(err)) logger.debug(record);
    else logger.error(record);
  }
  return answer;
}

const OF_THE_END: ReadonlySet<unknown> = new Set(['AMBIT_DISPOSED', 'AMBIT_HTTP_CLIENT_GONE', 'AMBIT_TX_ABORTED']);

/** What fails because its client is gone, and its scope with it. */
function endedWithClient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return OF_THE_END.has((error as { code?: unknown }).code) || endedWithClient(error.cause);
}
