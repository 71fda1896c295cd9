// @ts-check
import { openRedis, toRedisStream } from '../../receivers/redis-streams.ts';
import { OwnServer } from '../own-server.mjs';

const STREAM = 'events';
/** Has a value of another type, so that nothing can be added to it. */
const NO_STREAM = 'no stream';

/** @typedef {import('../targets.mjs').Broker} Broker */

/** @implements {Broker} */
export class RedisStreams {
  #url;
  server;

  /**
   * @param {import('../targets.mjs').Place} place
   * @param {import('../targets.mjs').Settings} settings
   */
  constructor({ folder, port }, settings) {
    this.#url = urlOf(port);
    const { appendonly = 'yes', appendfsync = 'always', 'maxmemory-policy': policy = 'noeviction' } = settings;
    const options = {
      port,
      bind: '127.0.0.1',
      dir: folder,
      save: '',
      appendonly,
      appendfsync,
      'maxmemory-policy': policy,
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.server = new OwnServer('redis-server', args, { port, cwd: folder });
  }

  async start() {
    await this.server.start();
    await this.#with((redis) => redis.set(`{${NO_STREAM}}`, ''));
  }

  /** @param {boolean} isFull */
  full(isFull) {
    return this.#with((redis) => redis.config('SET', 'maxmemory', isFull ? '1mb' : '0'));
  }

  arrived() {
    return this.#with(async (redis) => {
      const entries = await redis.xrange(`{${STREAM}}`, '-', '+');
      return entries.map(([, fields]) => fields[1]);
    });
  }

  close() {
    return this.server.kill();
  }

  /**
   * @template T
   * @param {(redis: import('ioredis').Redis) => Promise<T>} work
   */
  async #with(work) {
    const redis = openRedis(this.#url);
    try {
      // It has not read its file yet.
      for (;;) {
        const text = await redis.ping().catch(() => '');
        if (text === 'PONG') break;
      }
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }

  /**
   * @param {number} port
   * @param {import('../targets.mjs').Settings} settings
   * @returns {Promise<import('@ambit/outbox').Deliver>}
   */
  static async deliver(port, settings) {
    const redis = openRedis(urlOf(port));
    redis.on('error', () => undefined);
    const toStream = toRedisStream(redis, STREAM);
    const elsewhere = toRedisStream(redis, NO_STREAM);
    return async (event, signal) => {
      await (event.topic === 'poison' ? elsewhere : toStream)(event, signal);
      if (settings['maxlen']) await redis.xtrim(`{${STREAM}}`, 'MAXLEN', Number(settings['maxlen']));
    };
  }
}

/** @param {number} port */
function urlOf(port) {
  return `redis://127.0.0.1:${port}`;
}
