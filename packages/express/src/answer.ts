import type { Response } from 'express';

/** The part of an answer that precedes its body. */
export interface Head {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: readonly (readonly [name: string, value: number | string | string[]])[];
}

/** Its absence from the types of Node 20 is an oversight. */
interface NamesHeaders {
  getRawHeaderNames(): string[];
}

export function readHead(res: Response): Head {
  const headers = namesIn(res).map((name) => [name, res.getHeader(name) ?? ''] as const);
  return { status: res.statusCode, statusMessage: res.statusMessage, headers };
}

export function restoreHead(res: Response, { status, statusMessage, headers }: Head): void {
  if (!areIn(res, headers)) restoreHeaders(res, headers);
  res.statusCode = status;
  res.statusMessage = statusMessage;
}

/** Most often nobody has touched them, and to look costs less than to set them again. */
function areIn(res: Response, headers: Head['headers']): boolean {
  const names = namesIn(res);
  if (names.length !== headers.length) return false;
  return headers.every(([name, value], i) => names[i] === name && res.getHeader(name) === value);
}

function restoreHeaders(res: Response, headers: Head['headers']): void {
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  for (const [name, value] of headers) res.setHeader(name, value);
}

function namesIn(res: Response): string[] {
  return (res as Response & NamesHeaders).getRawHeaderNames();
}

/** What is true of one answer only: the same list as in @ambit/fastify. */
const OF_THE_ANSWER = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'location',
  'trailer',
  'transfer-encoding',
];

/** Makes room for another answer; what belongs to the connection or to every answer of the application stays. */
export function clearHead(res: Response): void {
  for (const name of OF_THE_ANSWER) res.removeHeader(name);
  // The rest of a refused stream may come before the error handler's answer, and must not sound like success.
  res.statusCode = 500;
  res.statusMessage = '';
}

/** What Node would refuse only when the answer is sent is refused while there is still something to roll back. */
export function checkAnswer(status: number, chunk: unknown): void {
  if (!Number.isInteger(status) || status < 100 || status > 999) {
    throw coded(new RangeError(`Invalid status code: ${String(status)}`), 'ERR_HTTP_INVALID_STATUS_CODE');
  }
  const isBody = typeof chunk === 'string' || chunk instanceof Uint8Array;
  if (isBody || chunk === undefined || chunk === null) return;
  throw coded(new TypeError('The body of an answer must be a string or bytes'), 'ERR_INVALID_ARG_TYPE');
}

/** As Node says it, so that nobody can tell a held answer from one under way. */
export function headersSent(): Error {
  return coded(new Error('Cannot set headers after they are sent to the client'), 'ERR_HTTP_HEADERS_SENT');
}

function coded(error: Error, code: string): Error {
  return Object.assign(error, { code });
}
