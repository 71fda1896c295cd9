import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type IDatabasePool } from '@ambit/transaction';
import { createOutbox, type Deliver, type OutboxEvent } from '@ambit/outbox';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { ChannelModel, ConfirmChannel } from 'amqplib';
import type { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openDbosPool, toDbos } from './receivers/dbos.js';
import { eventServer } from './receivers/http-receiver.js';
import { toHttp } from './receivers/http-sender.js';
import { toInngest } from './receivers/inngest.js';
import { createStream, openNats, toJetStream } from './receivers/jetstream.js';
import { declareQueue, openRabbitMq, toRabbitMq } from './receivers/rabbitmq.js';
import { openRedis, toRedisStream } from './receivers/redis-streams.js';
import { toRestate } from './receivers/restate.js';

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

async function rabbitMq(): Promise<Receiver & { channel: ConfirmChannel; opened: ChannelModel[]; queue: string }> {
  const queue = name();
  const url = 'amqp://guest:guest@127.0.0.1';
  const connection = await openRabbitMq(url);
  const channel = await connection.createConfirmChannel();
  await declareQueue(channel, queue, queue, '#');
  const seen = new Map<unknown, unknown>();
  await channel.consume(queue, (message) => {
    if (!message) return;
    // RabbitMQ knows no duplicates: a consumer recognizes them by their id.
    if (!seen.has(message.properties.messageId))
      seen.set(message.properties.messageId, JSON.parse(message.content.toString()));
    channel.ack(message);
  });
  const opened: ChannelModel[] = [];
  const open = async (): Promise<ChannelModel> => {
    const one = await openRabbitMq(url);
    opened.push(one);
    return one;
  };
  onTestFinished(async () => {
    await channel.deleteQueue(queue);
    await channel.deleteExchange(queue);
    for (const one of [connection, ...opened]) await one.close().catch(() => undefined);
  });
  return { deliver: toRabbitMq(open, queue), effects: () => [...seen.values()], channel, opened, queue };
}

async function jetStream(): Promise<Receiver> {
  const stream = name();
  const connection = await openNats('127.0.0.1');
  await createStream(connection, stream);
  const manager = await jetstreamManager(connection);
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

async function redisStream(replicas = 0): Promise<Receiver & { redis: Redis; stream: string }> {
  const stream = name();
  const redis = openRedis('redis://127.0.0.1');
  onTestFinished(async () => {
    await redis.del(`{${stream}}`, ...(await redis.keys(`{${stream}}:*`)));
    redis.disconnect();
  });
  return {
    deliver: toRedisStream(redis, stream, replicas),
    effects: async () => {
      const entries = await redis.xrange(`{${stream}}`, '-', '+');
      return entries.map(([, fields]) => JSON.parse(fields[5] ?? 'null') as unknown);
    },
    redis,
    stream: `{${stream}}`,
  };
}

/** A workflow that runs once for each event, and one at a time for each key. */
async function dbos(): Promise<Receiver> {
  const database = {
    systemDatabaseUrl: process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test',
    systemDatabaseSchemaName: name().replaceAll('-', '_'),
  };
  const ran: unknown[] = [];
  const ship = (payload: unknown) => Promise.resolve(void ran.push(payload));
  DBOS.setConfig({ name: 'shop', ...database, logLevel: 'error' });
  DBOS.registerWorkflow(ship, { name: 'ship' });
  await DBOS.launch();
  await DBOS.registerQueue('orders', { minPollingIntervalMs: 50, partitionConcurrency: 1 });
  const systemDatabasePool = openDbosPool(database.systemDatabaseUrl);
  const client = await DBOSClient.create({ ...database, systemDatabasePool, applicationName: 'shop' });
  onTestFinished(async () => {
    await DBOS.shutdown();
    await client.destroy();
    await systemDatabasePool.end();
    const admin = new Client({ connectionString: database.systemDatabaseUrl });
    await admin.connect();
    await admin.query(`DROP SCHEMA ${database.systemDatabaseSchemaName} CASCADE`);
    await admin.end();
  });
  const workflowOf = ({ key }: OutboxEvent) => ({
    queueName: 'orders',
    workflowName: 'ship',
    queuePartitionKey: key ?? '',
  });
  return { deliver: toDbos(client, workflowOf), effects: () => ran };
}

/** The receiving end of a documented protocol, which starts nothing for an id that it knows. */
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
  ['DBOS', dbos],
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
    await expect.poll(() => arrived.length).toBe(6);
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

const event = (id: string): OutboxEvent => ({
  id,
  topic: 't',
  key: undefined,
  payload: id,
  createdAt: new Date(),
  attempt: 1,
});
const { signal } = new AbortController();

test('a message that no queue of RabbitMQ takes is not delivered', async () => {
  const { deliver, channel, queue } = await rabbitMq();
  await channel.unbindQueue(queue, queue, '#');
  await expect(deliver(event('1'), signal)).rejects.toThrow('No queue is bound for t');
});

test('neither of two attempts at once is, where no queue of RabbitMQ takes the message', async () => {
  const { deliver, channel, queue } = await rabbitMq();
  await channel.unbindQueue(queue, queue, '#');
  const attempts = await Promise.allSettled([deliver(event('1'), signal), deliver(event('1'), signal)]);
  expect(attempts.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('another channel of RabbitMQ is opened after one that was closed', async () => {
  const { deliver, opened, effects, channel, queue } = await rabbitMq();
  await deliver(event('1'), signal);
  await opened[0]?.close();
  await deliver(event('2'), signal);
  // Closed by an error of the channel alone.
  await channel.deleteExchange(queue);
  await expect(deliver(event('lost'), signal)).rejects.toThrow('channel closed');
  await declareQueue(channel, queue, queue, '#');
  await deliver(event('3'), signal);
  await expect.poll(effects).toEqual(['1', '2', '3']);
  expect(opened).toHaveLength(3);
});

test('an entry that a Redis stream refuses is not taken for known', async () => {
  const { deliver, effects, redis, stream } = await redisStream();
  await redis.set(stream, 'not a stream');
  await expect(deliver(event('1'), signal)).rejects.toThrow('WRONGTYPE');
  await redis.del(stream);
  await deliver(event('1'), signal);
  expect(await effects()).toEqual(['1']);
});

test('an entry that too few replicas of Redis have is not delivered, however often it is sent', async () => {
  const { deliver, effects } = await redisStream(1);
  await expect(deliver(event('1'), signal)).rejects.toThrow('0 replicas have the event, not 1');
  await expect(deliver(event('1'), signal)).rejects.toThrow('0 replicas have the event, not 1');
  expect(await effects()).toEqual(['1']);
});

test('an event that the HTTP receiver refuses is not delivered', async () => {
  const { url, effects } = await http();
  const deliver = toHttp(url, Buffer.from('another key'), 'tests');
  await expect(deliver(event('1'), signal)).rejects.toThrow('The receiver responded with 401');
  expect(await effects()).toEqual([]);
});

test.each(readdirSync(join(import.meta.dirname, 'receivers')))('the guide leads to %s', (file) => {
  const guide = readFileSync(new URL('../../docs/guides/outbox.md', import.meta.url), 'utf8');
  expect(guide).toContain(`](../../test/outbox/receivers/${file})`);
});
