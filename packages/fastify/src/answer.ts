import type { FastifyReply } from 'fastify';

/** What is true of one answer only: the same list as in @ambit/express. */
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

/** A stream that waits fails for nobody: without a listener its error would end the process. */
export function ignoreErrors(payload: unknown): void {
  const { on } = Object(payload) as { on?: unknown };
  if (typeof on === 'function') on.call(payload, 'error', () => undefined);
}

/** Closes a response stream, of Node or of the web, that will not be sent. */
export function discard(payload: unknown): void {
  ignoreErrors(payload);
  const { destroy, cancel, body } = Object(payload) as { destroy?: unknown; cancel?: unknown; body?: unknown };
  if (typeof destroy === 'function') destroy.call(payload);
  else if (typeof cancel === 'function') (cancel.call(payload) as Promise<void>).catch(() => undefined);
  else if (payload instanceof Response) discard(body);
}

/** Makes room for an error; what belongs to the connection or to every answer of the application stays. */
export function clearHead(reply: FastifyReply): void {
  for (const name of OF_THE_ANSWER) reply.removeHeader(name);
}
