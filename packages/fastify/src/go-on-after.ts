import type { FastifyReply } from 'fastify';
import { discard } from './answer.js';
import { type TimeLimit, within } from './time-limit.js';

/** A container may give one promise for all ends that had nothing to do; once it has settled, nobody need wait for it. */
const settled = new WeakSet<Promise<unknown>>();

/**
 * Lets Fastify go on when `ending` has settled, and at once where there is nothing to wait for. `goOn` is the callback
 * of an `onError` or `onSend` hook, and is given what it throws, as Fastify does with hooks that return a promise.
 * `payload` is the response that waits, if there is one; after `limit` it waits no longer.
 */
export function goOnAfter(
  ending: Promise<unknown> | undefined,
  reply: FastifyReply,
  goOn: (failure?: Error) => void,
  { payload, limit }: { readonly payload?: unknown; readonly limit?: TimeLimit } = {},
): void {
  if (!ending || settled.has(ending)) {
    goOn();
    return;
  }
  const waited = limit ? within(ending, limit) : ending;
  const letGo = hold(reply, waited, payload);
  const settle = (): void => {
    settled.add(ending);
    // In one tick with what follows: a handler that ends between the two would answer a second time.
    letGo();
    try {
      goOn();
    } catch (failure) {
      goOn(failure as Error);
    }
  };
  waited.then(settle, settle);
}

/**
 * Answered it is, though not a byte of it is out: what the handler sends, returns or throws now is dropped. Fastify knows
 * an answer by its last byte only, and would send what it takes for a first one, or throw where nobody catches.
 */
function hold(reply: FastifyReply, ending: Promise<unknown>, payload: unknown): () => void {
  const ownSend = Object.getOwnPropertyDescriptor(reply, 'send');
  Object.defineProperty(reply, 'sent', { value: true, configurable: true });
  reply.send = (second?: unknown) => {
    if (second !== payload) discard(second);
    reply.log.warn('A second answer was dropped: return the reply where you send the first');
    return reply;
  };
  // Who awaits the reply, as a handler does that returns it, waits for the last byte all the same.
  // oxlint-disable-next-line unicorn/no-thenable -- a reply is one
  reply.then = (fulfilled, rejected) => {
    const wait = (): void => reply.then(fulfilled, rejected);
    ending.then(wait, wait);
  };
  return () => {
    for (const name of ['then', 'send', 'sent']) Reflect.deleteProperty(reply, name);
    if (ownSend) Object.defineProperty(reply, 'send', ownSend);
  };
}
