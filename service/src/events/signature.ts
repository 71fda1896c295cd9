import { createHmac } from 'node:crypto';

/** A prefix of Standard Webhooks, before the key in base64. */
const PREFIX = 'whsec_';
const MIN_BYTES = 24;
const MAX_BYTES = 64;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The key in a secret such as `whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD`, or undefined if it is invalid. */
export function keyOf(secret: string): Buffer | undefined {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '';
  const key = BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  return key.length >= MIN_BYTES && key.length <= MAX_BYTES ? key : undefined;
}

/** The headers by which a receiver knows who sent the body, and recognizes a repetition: those of Standard Webhooks. */
export function signedHeaders(key: Buffer, id: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
