import { once } from 'node:events';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { Readable } from 'node:stream';
import { clearRepresentation, responseTo, settleWithin, type TimeLimit } from '@ambit/http/host';
// A named import would fail on Fastify 3, which lacks `errorCodes`, before its own check of a plugin's version refuses it.
import * as framework from 'fastify';
import type { FastifyReply } from 'fastify';
import { holdReply } from './fastify-internals.js';

/** May be a stream: of Node, of the old style of Node, or of the web. */
interface Payload {
  readonly pipe?: unknown;
  readonly read?: unknown;
  readonly getReader?: unknown;
  readonly locked?: boolean;
  /** True while a file is not open yet. */
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
    if (payload.bodyUsed) throw new framework.errorCodes.FST_ERR_REP_RESPONSE_BODY_CONSUMED();
    return checkStream((payload.body ?? {}) as Payload);
  }
  if (payload === undefined || payload === null || typeof payload === 'string' || Buffer.isBuffer(payload)) return;
  const stream = Object(payload) as Payload;
  if (typeof stream.pipe !== 'function' && typeof stream.getReader !== 'function')
    throw new framework.errorCodes.FST_ERR_REP_INVALID_PAYLOAD_TYPE(typeof payload);
  await checkStream(stream);
}

async function checkStream(stream: Payload): Promise<void> {
  if (stream.locked === true) throw new framework.errorCodes.FST_ERR_REP_READABLE_STREAM_LOCKED();
  if (stream.errored) throw stream.errored;
  // Rejects with its error.
  if (stream.pending === true) await once(stream as Readable, 'ready');
}

/** Wraps a stream of the old style, which would lose what it emits while nobody listens. */
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

/** The time that a success that must not be sent waits for the response of the error handler. */
const ERROR_HANDLER_MS = 1000;

/**
 * A request whose transaction was rolled back has failed. While its error handler works, another branch of the handler
 * may still send a success: that is dropped, and the response of the error handler is sent. Where there is none in time,
 * the error is given to the next error handler.
 */
export class FailedRequest {
  readonly error: Error;
  /** The response that is sent now comes from the error handler, whatever its status is. */
  isHandling = false;
  #timer: NodeJS.Timeout | undefined = undefined;

  constructor(error: unknown) {
    this.error = error as Error;
  }

  /** For a handler that has set the status of a success before it failed. */
  resetStatus(reply: FastifyReply): void {
    if (reply.statusCode >= 400) return;
    reply.code(responseTo(this.error).status);
  }

  /** True if the response is dropped. If so, `done` is called only if no error handler responds. */
  drops(reply: FastifyReply, payload: unknown, done: (error: Error) => void): boolean {
    const status = payload instanceof Response ? payload.status : reply.statusCode;
    if (this.isHandling || status >= 400) {
      clearTimeout(this.#timer);
      return false;
    }
    clearRepresentation(reply);
    discard(payload);
    this.resetStatus(reply);
    this.#timer ??= setTimeout(() => {
      if (!reply.sent && !reply.raw.headersSent && !reply.raw.destroyed) done(this.error);
    }, ERROR_HANDLER_MS);
    return true;
  }
}

/** A container may return one promise for all disposals that had nothing to do; once it has settled, nobody need wait. */
const settled = new WeakSet<Promise<unknown>>();

/**
 * Lets Fastify continue when `disposing` has settled, and at once where there is nothing to wait for. `goOn` is the callback
 * of an `onError` or `onSend` hook, and is given what it throws, as Fastify does with hooks that return a promise.
 * `payload` is the response that waits, if there is one; after `limit` it waits no longer.
 */
export function goOnAfter(
  disposing: Promise<unknown> | undefined,
  reply: FastifyReply,
  goOn: (failure?: Error) => void,
  { payload, limit }: { readonly payload?: unknown; readonly limit?: TimeLimit } = {},
): void {
  if (!disposing || settled.has(disposing)) {
    goOn();
    return;
  }
  const waited = limit ? settleWithin(disposing, limit) : disposing;
  const drop = (second: unknown): void => {
    if (second !== payload) discard(second);
  };
  const letGo = holdReply(reply, { until: waited, drop });
  const settle = (): void => {
    settled.add(disposing);
    // In one tick with what follows: a handler that finishes between the two would respond a second time.
    letGo();
    try {
      goOn();
    } catch (failure) {
      goOn(failure as Error);
    }
  };
  waited.then(settle, settle);
}
