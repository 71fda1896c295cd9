import { once } from 'node:events';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { Readable } from 'node:stream';
import { errorCodes, type FastifyReply } from 'fastify';

/** What may be a stream: of Node, of the old style of Node, or of the web. */
interface Payload {
  readonly pipe?: unknown;
  readonly read?: unknown;
  readonly getReader?: unknown;
  readonly locked?: boolean;
  /** Of a file: it is not open yet. */
  readonly pending?: boolean;
  readonly errored?: Error | null;
}

/**
 * Refuses a response that Fastify would fail to send, while its transaction can still be rolled back. Waits for a file to be open.
 *
 * @throws what Fastify or Node throws where they send it
 */
export async function checkSendable(reply: FastifyReply, payload: unknown): Promise<void> {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    validateHeaderName(name);
    validateHeaderValue(name, value as string);
  }
  if (payload instanceof Response) {
    if (payload.bodyUsed) throw new errorCodes.FST_ERR_REP_RESPONSE_BODY_CONSUMED();
    return checkStream((payload.body ?? {}) as Payload);
  }
  if (payload === undefined || payload === null || typeof payload === 'string' || Buffer.isBuffer(payload)) return;
  const stream = Object(payload) as Payload;
  if (typeof stream.pipe !== 'function' && typeof stream.getReader !== 'function')
    throw new errorCodes.FST_ERR_REP_INVALID_PAYLOAD_TYPE(typeof payload);
  await checkStream(stream);
}

async function checkStream(stream: Payload): Promise<void> {
  if (stream.locked === true) throw new errorCodes.FST_ERR_REP_READABLE_STREAM_LOCKED();
  if (stream.errored) throw stream.errored;
  // Rejects with its error.
  if (stream.pending === true) await once(stream as Readable, 'ready');
}

/** The same for a stream of the old style, which would lose what it emits while nobody listens. */
export function keepsUntilRead(payload: unknown): unknown {
  const { pipe, read } = Object(payload) as Payload;
  const isOld = typeof pipe === 'function' && typeof read !== 'function';
  return isOld ? new Readable().wrap(payload as NodeJS.ReadableStream) : payload;
}

/** A stream that waits fails for nobody: without a listener its error would crash the process. */
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
