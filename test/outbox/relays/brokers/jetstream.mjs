// @ts-check
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { DiscardPolicy, jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { createStream, openNats, toJetStream } from '../../receivers/jetstream.ts';
import { OwnServer } from '../own-server.mjs';

const STREAM = 'events';

/** @typedef {import('../targets.mjs').Broker} Broker */

/** @implements {Broker} */
export class JetStream {
  #settings;
  #port;
  server;

  /**
   * @param {import('../targets.mjs').Place} place
   * @param {import('../targets.mjs').Settings} settings
   */
  constructor({ folder, port, natsServer }, settings) {
    this.#settings = settings;
    this.#port = port;
    const file = join(folder, 'nats.conf');
    const sync = settings['sync_interval'] ? `, sync_interval: ${settings['sync_interval']}` : '';
    writeFileSync(file, `host: 127.0.0.1\nport: ${port}\njetstream { store_dir: ${folder}/data${sync} }\n`);
    this.server = new OwnServer(natsServer, ['-c', file], { port, cwd: folder });
  }

  async start() {
    await this.server.start();
    const connection = await openNats(`127.0.0.1:${this.#port}`);
    const { streams } = await jetstreamManager(connection);
    const isKnown = await streams.info(STREAM).catch(() => undefined);
    if (!isKnown) {
      await createStream(connection, STREAM);
      const { config } = await streams.info(STREAM);
      const storage = this.#settings['storage'] === 'memory' ? StorageType.Memory : config.storage;
      const discard = this.#settings['discard'] === 'old' ? DiscardPolicy.Old : config.discard;
      await streams.delete(STREAM);
      await streams.add({ ...config, storage, discard });
    }
    await connection.close();
  }

  /** @param {boolean} isFull */
  full(isFull) {
    return this.#manage(async ({ streams }) => {
      const { state } = await streams.info(STREAM);
      await streams.update(STREAM, { max_msgs: isFull ? Math.max(1, state.messages) : -1 });
    });
  }

  async arrived() {
    return this.#manage(async (manager) => {
      const { state } = await manager.streams.info(STREAM);
      const found = [];
      for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1) {
        const message = await manager.streams.getMessage(STREAM, { seq });
        if (message) found.push(message.header.get('Nats-Msg-Id'));
      }
      return found;
    });
  }

  close() {
    return this.server.kill();
  }

  /**
   * @template T
   * @param {(manager: import('@nats-io/jetstream').JetStreamManager) => Promise<T>} work
   */
  async #manage(work) {
    const connection = await openNats(`127.0.0.1:${this.#port}`);
    try {
      return await work(await jetstreamManager(connection));
    } finally {
      await connection.close();
    }
  }

  /**
   * @param {number} port
   * @param {import('../targets.mjs').Settings} settings
   * @returns {Promise<import('@ambit/outbox').Deliver>}
   */
  static async deliver(port, settings) {
    const connection = await openNats(`127.0.0.1:${port}`);
    if (settings['acknowledged'] === 'no')
      return ({ id, topic, payload }) => {
        const named = headers();
        named.set('Nats-Msg-Id', id);
        connection.publish(`${STREAM}.${topic}`, JSON.stringify(payload), { headers: named });
      };
    const toStream = toJetStream(jetstream(connection), STREAM);
    const elsewhere = toJetStream(jetstream(connection), 'elsewhere');
    return (event, signal) => (event.topic === 'poison' ? elsewhere : toStream)(event, signal);
  }
}
