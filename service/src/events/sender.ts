import { createHmac } from 'node:crypto';
import type { OutboxEvent } from '@ambit/outbox';
import type { EventsConfig } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';

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

/**
 * Application-wide: posts events to the receiver, as CloudEvents in structured mode. In binary mode the type, the source and
 * the time would be headers, which the signature does not cover.
 */
export class EventSender {
  #isFailing = false;

  constructor(
    private readonly to: EventsConfig,
    private readonly source: string,
    private readonly logger: Pick<ILogger, 'info' | 'warn'>,
  ) {}

  /** Resolves when the receiver has responded with 2xx. */
  readonly deliver = async (event: OutboxEvent, signal: AbortSignal): Promise<void> => {
    try {
      await this.#post(event, signal);
    } catch (err) {
      const msg = 'The receiver of events does not accept them; they are kept and sent again';
      // One line for an outage: every attempt would be a line otherwise.
      if (!this.#isFailing) this.logger.warn({ msg, id: event.id, topic: event.topic, err });
      this.#isFailing = true;
      throw err;
    }
    if (this.#isFailing) this.logger.info({ msg: 'the receiver of events accepts them again' });
    this.#isFailing = false;
  };

  async #post({ id, topic, key, payload, createdAt }: OutboxEvent, signal: AbortSignal): Promise<void> {
    const [type, time] = ['application/json', createdAt.toISOString()];
    const about = { specversion: '1.0', id, source: this.source, type: topic, subject: key, time };
    const body = JSON.stringify({ ...about, datacontenttype: type, data: payload });
    // Those of Standard Webhooks, by which a receiver knows who sent the body, and recognizes a repetition.
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha256', this.to.key).update(`${id}.${timestamp}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
    const response = await fetch(this.to.url, { method: 'POST', redirect: 'manual', signal, headers, body });
    // The connection is used again only when the response was read.
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`The receiver responded with ${response.status}`);
  }
}
