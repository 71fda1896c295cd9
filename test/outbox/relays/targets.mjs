// @ts-check
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { JetStream } from './brokers/jetstream.mjs';
import { RabbitMq } from './brokers/rabbitmq.mjs';
import { RedisStreams } from './brokers/redis.mjs';

/** @typedef {Readonly<Record<string, string>>} Settings what differs from the guide */
/** @typedef {{ folder: string, port: number, ports: number[], natsServer: string }} Place */

/**
 * @typedef {object} Broker a server of this program's own
 * @property {import('./own-server.mjs').OwnServer} server
 * @property {() => Promise<void>} start with the stream or queue, as the guide makes it
 * @property {(isFull: boolean) => Promise<unknown>} [full] whether it has room for more
 * @property {() => Promise<unknown[]>} arrived the ids of the events, in order
 * @property {() => Promise<void>} close
 */

/** @typedef {{ new (place: Place, settings: Settings): Broker, deliver(port: number, settings: Settings): Promise<import('@ambit/outbox').Deliver> }} BrokerClass */

/** @typedef {'broker killed' | 'power failed' | 'broker full' | 'no queue bound'} Failure */

/**
 * @typedef {object} Variant settings, and what becomes of acknowledged events with them
 * @property {string} title
 * @property {Settings} settings
 * @property {Partial<Record<Failure, 'keeps' | 'loses'>>} under
 * @property {boolean} [short] whether it is tried with `--short`, too
 */

/** @typedef {{ Broker: BrokerClass, variants: readonly [Variant, ...Variant[]] }} Target the first variant is that of the guide */

/** @type {Readonly<Record<string, Target>>} */
export const TARGETS = {
  'NATS JetStream': {
    Broker: JetStream,
    variants: [
      {
        title: 'as in the guide, `sync_interval: always`',
        settings: { sync_interval: 'always' },
        under: { 'broker killed': 'keeps', 'power failed': 'keeps', 'broker full': 'keeps' },
      },
      {
        title: '`sync_interval` of the default, 2 min',
        settings: {},
        under: { 'broker killed': 'keeps', 'power failed': 'loses' },
      },
      { title: '`storage: memory`', settings: { storage: 'memory' }, under: { 'broker killed': 'loses' }, short: true },
      {
        title: 'without awaiting the acknowledgement',
        settings: { acknowledged: 'no' },
        under: { 'broker killed': 'loses' },
      },
      { title: '`discard: old`', settings: { discard: 'old' }, under: { 'broker full': 'loses' } },
    ],
  },
  RabbitMQ: {
    Broker: RabbitMq,
    variants: [
      {
        title: 'as in the guide, a quorum queue',
        settings: {},
        under: { 'broker killed': 'keeps', 'power failed': 'keeps', 'broker full': 'keeps', 'no queue bound': 'keeps' },
      },
      {
        title: 'a durable classic queue',
        settings: { queue: 'classic' },
        under: { 'broker killed': 'keeps', 'power failed': 'keeps' },
      },
      {
        title: 'a durable classic queue, not `persistent`',
        settings: { queue: 'classic', persistent: 'no' },
        under: { 'broker killed': 'loses' },
      },
      { title: 'without confirms', settings: { confirms: 'no' }, under: { 'broker killed': 'loses' } },
      {
        title: '`x-overflow: drop-head`, the default',
        settings: { overflow: 'drop-head' },
        under: { 'broker full': 'loses' },
      },
      { title: 'not `mandatory`', settings: { mandatory: 'no' }, under: { 'no queue bound': 'loses' }, short: true },
    ],
  },
  'Redis streams': {
    Broker: RedisStreams,
    variants: [
      {
        title: 'as in the guide, `appendfsync always`',
        settings: {},
        under: { 'broker killed': 'keeps', 'power failed': 'keeps', 'broker full': 'keeps' },
      },
      {
        title: '`appendfsync everysec`, the default',
        settings: { appendfsync: 'everysec' },
        under: { 'broker killed': 'keeps', 'power failed': 'loses' },
      },
      {
        title: '`appendonly no`, the default',
        settings: { appendonly: 'no' },
        under: { 'broker killed': 'loses' },
        short: true,
      },
      { title: '`MAXLEN 20`', settings: { maxlen: '20' }, under: { 'no queue bound': 'loses' } },
    ],
  },
};

/** The one of `lab/newer-nats.sh`, if that was run. */
export function natsServer() {
  const newer = join(import.meta.dirname, '../../../.cache/nats-server/usr/sbin/nats-server');
  return existsSync(newer) ? newer : 'nats-server';
}
