import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Happenings } from '@ambit/host-contract';

const KEY = Buffer.from('a key of 32 bytes, for the tests');

export interface ReceivedEvent {
  readonly type: string;
  readonly subject: string;
  readonly id: string;
  readonly data: unknown;
  readonly [attribute: string]: unknown;
}

/** A receiver of signed CloudEvents, which refuses or ignores them where the test says so. */
export class EventReceiver implements AsyncDisposable {
  readonly #server: Server = createServer((req, res) => void this.#receive(req, res));
  readonly #happenings = new Happenings();
  readonly events: ReceivedEvent[] = [];
  readonly badSignatures: unknown[] = [];
  requests = 0;
  /** `hang` never responds. */
  reaction: number | 'hang' = 204;

  static async open(): Promise<EventReceiver> {
    const receiver = new EventReceiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  /** The environment that makes the service post its events here. */
  get env(): { EVENTS_URL: string; EVENTS_SECRET: string } {
    const { port } = this.#server.address() as AddressInfo;
    return {
      EVENTS_URL: `http://127.0.0.1:${port}/events?from=tests`,
      EVENTS_SECRET: `whsec_${KEY.toString('base64')}`,
    };
  }

  hasRequests(count: number): Promise<void> {
    return this.#happenings.until(() => this.requests >= count, `${count} requests arrived`, 10_000);
  }

  hasEvents(count: number): Promise<void> {
    return this.#happenings.until(() => this.events.length >= count, `${count} events arrived`, 10_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  async #receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await text(req);
    const { reaction } = this;
    this.requests += 1;
    this.#happenings.tell();
    if (reaction === 'hang') return;
    if (reaction < 300) this.#keep(req, body);
    res.writeHead(reaction).end();
  }

  #keep({ headers, url, method }: IncomingMessage, body: string): void {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
    const wanted = createHmac('sha256', KEY)
      .update(`${String(id)}.${String(timestamp)}.${body}`)
      .digest();
    const given = Buffer.from(String(signature).replace('v1,', ''), 'base64');
    const event = JSON.parse(body) as ReceivedEvent;
    const isFresh = Math.abs(Date.now() / 1000 - Number(timestamp)) < 300;
    const isRight = given.length === wanted.length && timingSafeEqual(given, wanted) && id === event.id && isFresh;
    const isPosted = url === '/events?from=tests' && method === 'POST';
    if (!isRight || !isPosted) this.badSignatures.push({ headers, url, method });
    this.events.push({ ...event, contentType: headers['content-type'] });
    this.#happenings.tell();
  }
}
