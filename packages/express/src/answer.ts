import { ServerResponse } from 'node:http';

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

export function readHead(res: ServerResponse): Head {
  const headers = namesIn(res).map((name) => [name, res.getHeader(name) ?? ''] as const);
  // As Node reads it, for Express 4 hands on what is given as text.
  return { status: Math.trunc(res.statusCode), statusMessage: res.statusMessage, headers };
}

export function restoreHead(res: ServerResponse, { status, statusMessage, headers }: Head): void {
  if (!areIn(res, headers)) restoreHeaders(res, headers);
  res.statusCode = status;
  res.statusMessage = statusMessage;
}

/** Most often nobody has touched them, and to look costs less than to set them again. */
function areIn(res: ServerResponse, headers: Head['headers']): boolean {
  const names = namesIn(res);
  if (names.length !== headers.length) return false;
  return headers.every(([name, value], i) => names[i] === name && res.getHeader(name) === value);
}

function restoreHeaders(res: ServerResponse, headers: Head['headers']): void {
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  for (const [name, value] of headers) res.setHeader(name, value);
}

function namesIn(res: ServerResponse): string[] {
  return (res as ServerResponse & NamesHeaders).getRawHeaderNames();
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

/**
 * Makes room for another response; what belongs to the connection or to every response of the application stays. What
 * follows is an error unless it has a status of its own. But while the rest of the old response may follow, that rest
 * must still count as part of a success.
 */
export function clearHead(res: ServerResponse, isRestToCome: boolean): void {
  for (const name of OF_THE_ANSWER) res.removeHeader(name);
  res.statusCode = isRestToCome ? 200 : 500;
  res.statusMessage = '';
}

type Sender = 'end' | 'flushHeaders' | 'write' | 'writeHead';

/** What Node would refuse only when the answer is sent is refused while there is still something to roll back. */
export function checkHead(res: ServerResponse, method: Exclude<Sender, 'writeHead'>, args: unknown[]): void {
  if (isPlain(res)) return;
  try {
    rehearse(res, method, args);
  } catch (error) {
    // Of an error handler's answer they would be refused again.
    res.statusMessage = '';
    res.removeHeader('trailer');
    if (res.strictContentLength) res.removeHeader('content-length');
    throw error;
  }
}

/** Whatever else there may be in a head, Node has looked at by now. */
function isPlain(res: ServerResponse): boolean {
  const { statusCode, statusMessage, strictContentLength } = res;
  return statusCode >= 100 && statusCode <= 999 && !statusMessage && !strictContentLength && !res.hasHeader('trailer');
}

/** Sends the same answer to nobody, to hear what Node says of it. */
export function rehearse(res: ServerResponse, method: Sender, args: unknown[]): void {
  const rehearsal = new ServerResponse(res.req);
  rehearsal.strictContentLength = res.strictContentLength;
  restoreHead(rehearsal, readHead(res));
  Reflect.apply(ServerResponse.prototype[method], rehearsal, args);
}

export function checkBody(chunk: unknown): void {
  if (typeof chunk === 'string' || chunk instanceof Uint8Array) return;
  throw coded(new TypeError('The body of an answer must be a string or bytes'), 'ERR_INVALID_ARG_TYPE');
}

/** As Node says it, so that nobody can tell a held answer from one under way. */
export function headersSent(): Error {
  return coded(new Error('Cannot set headers after they are sent to the client'), 'ERR_HTTP_HEADERS_SENT');
}

function coded(error: Error, code: string): Error {
  return Object.assign(error, { code });
}

/** Where Node keeps the head once it is sent: `headersSent` looks there, and so does whatever changes the head. */
export function pretendSent(res: ServerResponse, pretend: boolean): void {
  (res as ServerResponse & { _header: string | null })._header = pretend ? 'held back' : null;
}
