import { createHmac } from 'node:crypto';
import type { Deliver } from '@ambit/outbox';

/** Posts each event, signed as Standard Webhooks are. A response other than 2xx throws, so that the relay tries again. */
export function toHttp(url: string, key: Buffer, source: string): Deliver {
  return async ({ id, topic, key: subject, payload, createdAt: time }, signal) => {
    const body = JSON.stringify({ specversion: '1.0', id, source, type: topic, subject, time, data: payload });
    const at = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/cloudevents+json',
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': `v1,${signature}`,
    };
    const response = await fetch(url, { method: 'POST', body, signal, headers });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`The receiver responded with ${response.status}`);
  };
}
