// @ts-check
import { createServer } from 'node:http2';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { installed } from '../../../tools/binaries.mjs';
import { toRestate } from '../../test/outbox/restate.ts';
import { OwnServer } from '../own-server.mjs';

const SERVER = '@restatedev/restate-server-linux-x64';

/** @typedef {import('../targets.mjs').Broker} Broker */

/** @implements {Broker} */
export class Restate {
  #admin;
  #handlers;
  /** @type {unknown[]} */
  #ran = [];
  server;

  /**
   * @param {import('../targets.mjs').Place} place
   * @param {import('../targets.mjs').Settings} settings
   */
  constructor({ folder, port, ports: [admin = 0, fabric = 0] }, settings) {
    this.#admin = `http://127.0.0.1:${admin}`;
    this.#handlers = createServer();
    this.server = new OwnServer(
      installed(SERVER, '1', `${SERVER}/bin/restate-server`),
      ['--no-logo', '--listen-mode', 'tcp', '--node-name', 'ambit'],
      {
        port,
        cwd: '/',
        env: {
          RESTATE_BASE_DIR: join(folder, 'restate'),
          RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
          RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${fabric}`,
          RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${port}`,
          RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
          RESTATE_DISABLE_TELEMETRY: 'true',
          RESTATE_LOG_FILTER: 'error',
          ...settings,
        },
      },
    );
  }

  async start() {
    await this.server.start();
    if (!this.#handlers.listening) await this.#serve();
  }

  async #serve() {
    process.env['RESTATE_LOGGING'] ??= 'ERROR';
    const sdk = installed('@restatedev/restate-sdk', '1', '@restatedev/restate-sdk/package.json');
    const { main } = (await import(sdk, { with: { type: 'json' } })).default;
    const restate = await import(join(dirname(sdk), main));
    const ship = async (/** @type {any} */ context) => void this.#ran.push(context.request().id);
    const shop = restate.object({ name: 'shop', handlers: { ship } });
    this.#handlers.on('request', restate.endpoint().bind(shop).http2Handler());
    await once(this.#handlers.listen(0, '127.0.0.1'), 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#handlers.address());
    const body = JSON.stringify({ uri: `http://127.0.0.1:${port}` });
    while (!(await this.#post('deployments', body))) await pause(50);
  }

  /** Those that Restate knows, in the order in which it has run them. */
  async arrived() {
    /** @type {{ rows: { id: string, key: string, status: string }[] } | undefined} */
    let known;
    const query = JSON.stringify({ query: 'SELECT id, idempotency_key AS key, status FROM sys_invocation' });
    while (!known || known.rows.some(({ status }) => status !== 'completed')) {
      await pause(100);
      known = await this.#post('query', query);
    }
    const keys = new Map(known.rows.map(({ id, key }) => [id, key]));
    return this.#ran.flatMap((id) => keys.get(String(id)) ?? []);
  }

  async close() {
    await this.server.kill();
    this.#handlers.close();
  }

  /** @param {string} path @param {string} body @returns {Promise<any>} the response, if it is one */
  async #post(path, body) {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const response = await fetch(`${this.#admin}/${path}`, { method: 'POST', headers, body }).catch(() => undefined);
    return response?.ok ? response.json() : undefined;
  }

  /** @param {number} port @returns {Promise<import('@ambit/outbox').Deliver>} */
  static async deliver(port) {
    return toRestate(`http://127.0.0.1:${port}`, ({ topic, key }) =>
      topic === 'poison' ? 'nowhere/ship' : `shop/${encodeURIComponent(key ?? '')}/ship`,
    );
  }
}
