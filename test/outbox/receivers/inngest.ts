import type { Deliver } from '@ambit/outbox';

/** Sends each event to Inngest, which runs no function twice for events of one `id`. The payload has to be an object. */
export function toInngest(url: string, eventKey: string): Deliver {
  return async ({ id, topic: name, payload: data, createdAt }, signal) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ id, name, data, ts: createdAt.getTime() });
    const response = await fetch(`${url}/e/${eventKey}`, { method: 'POST', body, signal, headers });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`Inngest responded with ${response.status}`);
  };
}
