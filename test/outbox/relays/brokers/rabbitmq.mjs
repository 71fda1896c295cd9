// @ts-check
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { declareQueue, openRabbitMq, toRabbitMq } from '../../receivers/rabbitmq.ts';
import { OwnServer } from '../own-server.mjs';

const BIN = '/usr/lib/rabbitmq/bin';
const QUEUE = 'events';
const LIMIT_NEVER_REACHED = 1_000_000;
const NOTHING_MORE_MS = 10_000;
const READY_MS = 60_000;
/** The poison has another topic, for which no queue is bound. */
const BOUND = 'order.*';

/** @typedef {import('../targets.mjs').Broker} Broker */

/** @implements {Broker} */
export class RabbitMq {
  #settings;
  #url;
  #env;
  #mapper;
  /** @type {unknown[]} */
  #read = [];
  server;

  /**
   * @param {import('../targets.mjs').Place} place
   * @param {import('../targets.mjs').Settings} settings
   */
  constructor({ folder, port, ports: [mapper = 0, peers = 0] }, settings) {
    this.#settings = settings;
    this.#url = urlOf(port);
    this.#env = {
      HOME: folder,
      ERL_EPMD_PORT: String(mapper),
      RABBITMQ_NODENAME: `ambit${port}@localhost`,
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(peers),
      RABBITMQ_MNESIA_BASE: join(folder, 'data'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq'),
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    };
    mkdirSync(join(folder, 'log'), { recursive: true });
    writeFileSync(join(folder, 'plugins'), '[].\n');
    // Not in the folder, which may be on a disk whose power is cut.
    this.#mapper = new OwnServer('epmd', ['-port', String(mapper), '-address', '127.0.0.1'], {
      port: mapper,
      cwd: '/',
    });
    this.server = new OwnServer(`${BIN}/rabbitmq-server`, [], { port, cwd: '/', env: this.#env });
  }

  async start() {
    await this.#mapper.start();
    await this.server.start();
    await this.#becomeReady();
  }

  /** Its port is open before it can do all: on a busy machine it refuses a connection, or a quorum queue, for a while. */
  async #becomeReady() {
    for (const start = performance.now(); ; await pause(200)) {
      try {
        return await this.#onChannel((channel) => this.#declare(channel));
      } catch (error) {
        if (performance.now() - start > READY_MS) throw error;
      }
    }
  }

  /** @param {import('amqplib').ConfirmChannel} channel */
  async #declare(channel) {
    const { queue, overflow } = this.#settings;
    if (!queue && !overflow) return declareQueue(channel, QUEUE, QUEUE, BOUND);
    const settings = { 'x-queue-type': queue ?? 'quorum', 'x-overflow': overflow ?? 'reject-publish' };
    await channel.assertExchange(QUEUE, 'topic', { durable: true });
    await channel.assertQueue(QUEUE, { durable: true, arguments: settings });
    await channel.bindQueue(QUEUE, QUEUE, BOUND);
  }

  /**
   * A queue that refuses goes on refusing until its limit is raised, and messages are read; where the limit is removed it never stops.
   * @param {boolean} isFull
   */
  async full(isFull) {
    const length = await this.#onChannel(async (channel) => (await channel.checkQueue(QUEUE)).messageCount);
    const limit = isFull ? Math.max(1, length) : LIMIT_NEVER_REACHED;
    await this.#control('set_policy', 'full', '.*', JSON.stringify({ 'max-length': limit }));
    if (!isFull) await this.#onChannel((channel) => this.#readFrom(channel, Math.ceil(length / 2)));
  }

  arrived() {
    return this.#onChannel(async (channel) => {
      const { messageCount } = await channel.checkQueue(QUEUE);
      await this.#readFrom(channel, messageCount);
      return this.#read;
    });
  }

  /**
   * So many messages, unless the queue has no more.
   * @param {import('amqplib').ConfirmChannel} channel
   * @param {number} count
   */
  async #readFrom(channel, count) {
    const enough = this.#read.length + count;
    let changedAt = performance.now();
    await channel.prefetch(100);
    await channel.consume(QUEUE, (message) => {
      if (!message || this.#read.length >= enough) return;
      this.#read.push(message.properties.messageId);
      channel.ack(message);
      changedAt = performance.now();
    });
    while (this.#read.length < enough && performance.now() - changedAt < NOTHING_MORE_MS) await pause(20);
  }

  /**
   * @template T
   * @param {(channel: import('amqplib').ConfirmChannel) => Promise<T>} work
   */
  async #onChannel(work) {
    const connection = await openRabbitMq(this.#url);
    try {
      const channel = await connection.createConfirmChannel();
      // The call that is refused rejects, too.
      channel.on('error', () => undefined);
      return await work(channel);
    } finally {
      // A server that refuses has closed it.
      await connection.close().catch(() => undefined);
    }
  }

  /** @param {string[]} command */
  async #control(...command) {
    await promisify(execFile)(`${BIN}/rabbitmqctl`, command, { env: { ...process.env, ...this.#env } });
  }

  async close() {
    await this.server.kill();
    await this.#mapper.kill();
  }

  /**
   * @param {number} port
   * @param {import('../targets.mjs').Settings} settings
   * @returns {Promise<import('@ambit/outbox').Deliver>}
   */
  static async deliver(port, settings) {
    const open = async () => changed(await openRabbitMq(urlOf(port)), settings);
    return toRabbitMq(open, QUEUE);
  }
}

/**
 * The connection, whose channels leave out what the guide sets.
 * @param {import('amqplib').ChannelModel} connection
 * @param {import('../targets.mjs').Settings} settings
 */
function changed(connection, { persistent, mandatory, confirms }) {
  const create = connection.createConfirmChannel.bind(connection);
  connection.createConfirmChannel = async () => {
    const channel = await create();
    const publish = channel.publish.bind(channel);
    channel.publish = (exchange, topic, content, options, confirmed) => {
      const given = { ...options, persistent: persistent !== 'no', mandatory: mandatory !== 'no' };
      if (confirms !== 'no') return publish(exchange, topic, content, given, confirmed);
      setImmediate(() => confirmed?.(null, {}));
      return publish(exchange, topic, content, given);
    };
    return channel;
  };
  return connection;
}

/** @param {number} port */
function urlOf(port) {
  return `amqp://guest:guest@127.0.0.1:${port}`;
}
