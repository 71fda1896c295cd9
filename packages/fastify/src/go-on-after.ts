import { type TimeLimit, within } from '@ambit/http/host';
import type { FastifyReply } from 'fastify';
import { discard } from './payload.js';
import { holdReply } from './fastify-internals.js';

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
  const waited = limit ? within(disposing, limit) : disposing;
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
