import { Happenings } from '@ambit/test-kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig, startService } from '../src/index.js';
import { App } from './support/app.js';
import { sqlite, type TestDatabase } from './support/databases.js';
import { request } from './support/http.js';
import { ServiceProcess } from './support/service-process.js';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const KEY = Buffer.from('a key of 32 bytes, for the tests');

interface ReceivedEvent {
  readonly type: string;
  readonly subject: string;
  readonly id: string;
  readonly data: unknown;
  readonly [attribute: string]: unknown;
}

/** A receiver of signed CloudEvents, which refuses or ignores them where the test says so. */
class EventReceiver implements AsyncDisposable {
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
    return this.#happenings.until(() => this.requests >= count, `${count} requests arrived`, 50_000);
  }

  hasEvents(count: number): Promise<void> {
    return this.#happenings.until(() => this.events.length >= count, `${count} events arrived`, 50_000);
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

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const post = (app: App, path: string, body: object, headers: Record<string, string> = {}) =>
  app.request<{ id: string }>({ method: 'POST', path, body, headers });

describe('with EVENTS_URL', () => {
  let database: TestDatabase;
  let receiver: EventReceiver;
  let app: App;

  beforeEach(async () => {
    database = await sqlite.open();
    receiver = await EventReceiver.open();
    app = await App.start('fastify', { ...database.env, ...receiver.env });
  });
  afterEach(async () => {
    await app.stop();
    await receiver[Symbol.asyncDispose]();
    await database.drop();
  });

  test('a user and an order are posted, each as a signed CloudEvent', async () => {
    const { body: user } = await post(app, '/api/users', ADA);
    await receiver.hasEvents(1);
    const { body: order } = await post(app, '/api/orders', ORDER);
    await receiver.hasEvents(2);
    const common = {
      specversion: '1.0',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      source: 'ambit-service',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      datacontenttype: 'application/json',
      contentType: 'application/cloudevents+json; charset=utf-8',
    };
    expect(receiver.events).toEqual([
      { ...common, type: 'user.created', subject: user.id, data: user },
      { ...common, type: 'order.created', subject: order.id, data: order },
    ]);
    expect(receiver.badSignatures).toEqual([]);
  });

  test('a failing receiver disturbs neither requests nor health, and gets the event again', async () => {
    receiver.reaction = 500;
    expect((await post(app, '/api/orders', ORDER)).status).toBe(201);
    await receiver.hasRequests(1);
    expect((await app.request({ path: '/health/ready' })).status).toBe(200);
    await app.log.finds({ msg: 'The receiver of events does not accept them; they are kept and sent again' });
    receiver.reaction = 204;
    await receiver.hasEvents(1);
    await app.log.finds({ msg: 'the receiver of events accepts them again' });
  });
});

describe('without EVENTS_URL', () => {
  test('nothing is stored, and there is no relay', async () => {
    await using database = await sqlite.open();
    await using app = await App.start('fastify', database.env);
    await post(app, '/api/orders', ORDER);
    expect(await app.pool.query('SELECT * FROM outbox')).toEqual([]);
    expect(app.container.resolve('IEventRelay')).toBeUndefined();
  });
});

describe('the events command', () => {
  test('lists what failed for good, and sends it again', async () => {
    await using database = await sqlite.open();
    await using receiver = await EventReceiver.open();
    receiver.reaction = 410;
    const env = { ...database.env, ...receiver.env };
    await using app = await App.start('fastify', env);
    const { body } = await post(app, '/api/users', ADA);
    await receiver.hasRequests(1);
    const run = (...args: string[]) => new ServiceProcess(env, { program: 'events.js', args }).exit;
    expect(await run('list')).toEqual({ code: 0, output: 'No event has failed for good.\n' });
    // As after its last attempt.
    await app.log.finds({ msg: 'The receiver of events does not accept them; they are kept and sent again' });
    await expect
      .poll(() => app.pool.query('SELECT attempts FROM outbox WHERE claimed_by IS NULL AND attempts > 0'))
      .toHaveLength(1);
    await app.pool.query("UPDATE outbox SET state = 'dead', settled_at = 0, attempts = 20");
    const { output } = await run('list');
    const [id = '', ...fields] = output.trimEnd().split('\t');
    expect(fields).toEqual([
      'user.created',
      body.id,
      '20 attempts',
      '1970-01-01T00:00:00.000Z',
      'The receiver responded with 410',
    ]);
    receiver.reaction = 204;
    expect(await run('retry', 'another')).toEqual({
      code: 0,
      output: 'Events that are sent again: 0\n',
    });
    expect(await run('retry', id)).toEqual({ code: 0, output: 'Events that are sent again: 1\n' });
    await receiver.hasEvents(1);
    expect(receiver.events[0]).toMatchObject({ id, subject: body.id });
  });
});

test('with METRICS=1, /metrics has deliveries, lag and backlog', async () => {
  await using receiver = await EventReceiver.open();
  const env = { PORT: '0', DATA_DIR: ':memory:', LOG_LEVEL: 'silent', METRICS: '1', ...receiver.env };
  const service = await startService(readConfig(env));
  await request(service.url, { method: 'POST', path: '/api/users', body: ADA });
  await receiver.hasEvents(1);
  const metrics = async (): Promise<string> => (await fetch(`${service.url}/metrics`)).text();
  await expect.poll(metrics).toMatch(/^ambit_outbox_delivered_total\{ambit_outbox_table="outbox",.*\} 1$/m);
  expect(await metrics()).toMatch(/^ambit_outbox_lag_count\{.*\} 1$/m);
  expect(await metrics()).toMatch(/^ambit_outbox_pending\{.*\} \d+$/m);
  await service.stop();
});

test.each([[[]], [['list', 'x']], [['retry']]])('the events command refuses %j', async (args) => {
  expect((await new ServiceProcess({}, { program: 'events.js', args }).exit).code).toBe(64);
});
