import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type IDatabasePool } from '@ambit/transaction';
import { createOutbox, type Deliver, type OutboxEvent } from '@ambit/outbox';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect as connectNats } from '@nats-io/transport-node';
import { connect as connectRabbit } from 'amqplib';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { eventServer } from './http-receiver.js';
import { toHttp } from './http-sender.js';
import { toInngest } from './inngest.js';
import { toJetStream } from './jetstream.js';
import { toRabbitMq } from './rabbitmq.js';
import { toRedisStream } from './redis-streams.js';
import { toRestate } from './restate.js';

const KEY = Buffer.from('a key of 32 bytes, for the tests');
const name = (): string => `ambit-${randomUUID().slice(0, 8)}`;

interface Receiver {
  readonly deliver: Deliver;
  /** The payloads that had an effect, in order. */
  readonly effects: () => Promise<unknown[]> | unknown[];
}

let pool: IDatabasePool;
beforeEach(async () => {
  pool = createSqlitePool({ path: ':memory:' });
});
afterEach(() => pool.close());

async function http(): Promise<Receiver & { url: string }> {
  await pool.query('CREATE TABLE received_events (id text PRIMARY KEY)');
  await pool.query('CREATE TABLE effects (payload text)');
  const server = eventServer(KEY, pool, async (connection, { data }) => {
    await connection.query('INSERT INTO effects VALUES ($1)', [JSON.stringify(data)]);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    deliver: toHttp(url, KEY, 'tests'),
    effects: async () => {
      const rows = await pool.query<{ payload: string }>('SELECT payload FROM effects ORDER BY rowid');
      return rows.map(({ payload }) => JSON.parse(payload) as unknown);
    },
  };
}

function signed(id: string, body: string, { at = Date.now(), key = KEY } = {}): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

async function rabbitMq(): Promise<Receiver & { unbind: () => Promise<unknown> }> {
  const [exchange, queue] = [name(), name()];
  const connection = await connectRabbit('amqp://guest:guest@127.0.0.1');
  const channel = await connection.createConfirmChannel();
  await channel.assertExchange(exchange, 'topic');
  await channel.assertQueue(queue);
  await channel.bindQueue(queue, exchange, '#');
  const seen = new Map<unknown, unknown>();
  await channel.consume(queue, (message) => {
    if (!message) return;
    // RabbitMQ knows no duplicates: a consumer recognizes them by their id.
    if (!seen.has(message.properties.messageId))
      seen.set(message.properties.messageId, JSON.parse(message.content.toString()));
    channel.ack(message);
  });
  onTestFinished(async () => {
    await channel.deleteQueue(queue);
    await channel.deleteExchange(exchange);
    await connection.close();
  });
  return {
    deliver: toRabbitMq(channel, exchange),
    effects: () => [...seen.values()],
    unbind: () => channel.unbindQueue(queue, exchange, '#'),
  };
}

async function jetStream(): Promise<Receiver> {
  const stream = name();
  const connection = await connectNats({ servers: '127.0.0.1' });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: stream, subjects: [`${stream}.>`], duplicate_window: 3600 * 1e9 });
  onTestFinished(async () => {
    await manager.streams.delete(stream);
    await connection.close();
  });
  return {
    deliver: toJetStream(jetstream(connection), stream),
    effects: async () => {
      const { state } = await manager.streams.info(stream);
      const all = Array.from({ length: state.messages }, (_, index) =>
        manager.streams.getMessage(stream, { seq: state.first_seq + index }),
      );
      return (await Promise.all(all)).map((message) => message?.json());
    },
  };
}

async function redisStream(): Promise<Receiver> {
  const stream = name();
  const redis = new Redis();
  onTestFinished(async () => {
    await redis.del(`{${stream}}`, ...(await redis.keys(`{${stream}}:*`)));
    redis.disconnect();
  });
  return {
    deliver: toRedisStream(redis, stream),
    effects: async () => {
      const entries = await redis.xrange(`{${stream}}`, '-', '+');
      return entries.map(([, fields]) => JSON.parse(fields[5] ?? 'null') as unknown);
    },
  };
}

/** The receiving end of a documented protocol, which starts nothing for an id that it knows. `integrations/restate.mjs` runs the real Restate. */
async function started(
  read: (request: IncomingMessage, body: unknown) => { id: unknown; payload: unknown; response: object },
): Promise<{ url: string; effects: () => unknown[] }> {
  const seen = new Map<unknown, unknown>();
  const server = createServer((request, response) => {
    void json(request).then((sent) => {
      const { id, payload, response: body } = read(request, sent);
      if (!seen.has(id)) seen.set(id, payload);
      response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, effects: () => [...seen.values()] };
}

async function restate(): Promise<Receiver> {
  const { url, effects } = await started(({ method, url: path, headers }, payload) => {
    expect([method, path]).toEqual(['POST', '/shop/order.created/send']);
    return { id: headers['idempotency-key'], payload, response: { invocationId: 'inv_1', status: 'Accepted' } };
  });
  return { deliver: toRestate(url, ({ topic }) => `shop/${topic}`), effects };
}

async function inngest(): Promise<Receiver> {
  const { url, effects } = await started(({ method, url: path }, body) => {
    const { id, name: topic, data, ts } = body as Record<string, unknown>;
    expect([method, path, topic, typeof ts]).toEqual(['POST', '/e/key', 'order.created', 'number']);
    return { id, payload: data, response: { ids: ['1'], status: 200 } };
  });
  return { deliver: toInngest(url, 'key'), effects };
}

describe.each([
  ['HTTP', http],
  ['RabbitMQ', rabbitMq],
  ['NATS JetStream', jetStream],
  ['a Redis stream', redisStream],
  ['Restate', restate],
  ['Inngest', inngest],
] as const)('%s', (_, open: () => Promise<Receiver>) => {
  test('gets every event in order, and one that is sent twice has one effect', async () => {
    const { deliver, effects } = await open();
    const outbox = createOutbox(pool, { dialect: 'sqlite' });
    await outbox.createTable();
    const arrived: string[] = [];
    const losing = async (event: OutboxEvent, signal: AbortSignal): Promise<void> => {
      await deliver(event, signal);
      arrived.push(event.id);
      if (event.attempt === 1) throw new Error('The response is lost');
    };
    for (let n = 0; n < 3; n++) await outbox.publish(pool, { topic: 'order.created', key: 'ada', payload: { n } });
    const relay = outbox.relay(losing, { pollMs: 10, backoffMs: 10 });
    relay.start();
    await expect.poll(() => arrived.length, { timeout: 10_000 }).toBe(6);
    await expect.poll(effects).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
    await relay.dispose();
  });
});

test('the HTTP receiver refuses what is unsigned, signed with another key, changed or old', async () => {
  const { url, effects } = await http();
  const body = JSON.stringify({ id: '1', data: 1 });
  const post = async (headers: Record<string, string>, sent = body): Promise<number> =>
    (await fetch(url, { method: 'POST', body: sent, headers })).status;
  expect(await post({})).toBe(401);
  expect(await post(signed('1', body, { key: Buffer.from('another') }))).toBe(401);
  expect(await post(signed('1', body), body.replace('"data":1', '"data":2'))).toBe(401);
  expect(await post(signed('1', body, { at: Date.now() - 301_000 }))).toBe(401);
  expect(await effects()).toEqual([]);
  expect(await post(signed('1', body))).toBe(204);
  expect(await effects()).toEqual([1]);
});

test('a message that no queue of RabbitMQ takes is not delivered', async () => {
  const { deliver, unbind } = await rabbitMq();
  await unbind();
  const event: OutboxEvent = { id: '1', topic: 't', key: undefined, payload: 1, createdAt: new Date(), attempt: 1 };
  await expect(deliver(event, new AbortController().signal)).rejects.toThrow('No queue is bound for t');
  await pause(0);
});

test('an event that the HTTP receiver refuses is not delivered', async () => {
  const { url, effects } = await http();
  const event: OutboxEvent = { id: '1', topic: 't', key: undefined, payload: 1, createdAt: new Date(), attempt: 1 };
  const deliver = toHttp(url, Buffer.from('another key'), 'tests');
  await expect(deliver(event, new AbortController().signal)).rejects.toThrow('The receiver responded with 401');
  expect(await effects()).toEqual([]);
});

test.each(readdirSync(import.meta.dirname).filter((file) => !file.endsWith('.test.ts')))(
  'the guide shows %s as it is here',
  (file) => {
    const guide = readFileSync(new URL('../../../docs/guides/outbox.md', import.meta.url), 'utf8');
    const code = readFileSync(new URL(file, import.meta.url), 'utf8');
    expect(guide).toContain(`\`\`\`typescript\n${code}\`\`\``);
  },
);
