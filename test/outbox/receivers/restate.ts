import type { Deliver, OutboxEvent } from '@ambit/outbox';

/** Starts a handler of Restate for each event. An invocation whose idempotency key Restate knows is not started again. */
export function toRestate(ingress: string, handlerOf: (event: OutboxEvent) => string): Deliver {
  return async (event, signal) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': event.id };
    const body = JSON.stringify(event.payload);
    const response = await fetch(`${ingress}/${handlerOf(event)}/send`, { method: 'POST', body, signal, headers });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`Restate responded with ${response.status}`);
  };
}
