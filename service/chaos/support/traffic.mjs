import { requestText } from '@ambit/host-contract';
import { Connection, Lost } from './connection.mjs';
import { between, oneOf } from './random.mjs';

const CLIENTS = 32;
const ABORTS = 0.05;
const ABORTS_WITHIN_MS = 10;
const PIPELINES = 0.1;
const MAX_AT_ONCE = 5;
/** The maximum number of requests on one connection. */
const MAX_PER_CONNECTION = 200;
const KEYS = 0.1;

const ORDER = {
  items: [
    { productId: 'free-1', quantity: 2 },
    { productId: 'free-2', quantity: 1 },
  ],
};
const USER = { name: 'Ada', email: 'ada@example.org' };
const NOBODY = '00000000-0000-7000-8000-000000000000';

let keys = 0;
/** @type {string} of a user that may exist */
let known = NOBODY;

/** @typedef {{ bytes: string, expected: readonly number[] }} Request */

/** @type {readonly [() => Request, ...(() => Request)[]]} */
const KINDS = [
  () => ({ bytes: requestText({ path: '/api/users?limit=20' }), expected: [200] }),
  () => ({ bytes: requestText({ path: `/api/users?limit=5&after=${known}` }), expected: [200] }),
  () => ({ bytes: requestText({ path: `/api/users/${known}` }), expected: [200, 404] }),
  () => ({ bytes: requestText({ path: '/api/users/nobody' }), expected: [404] }),
  () => ({
    bytes: requestText({ method: 'POST', path: '/api/users', body: USER, headers: someKey() }),
    expected: [201],
  }),
  () => ({
    bytes: requestText({ method: 'POST', path: '/api/orders', body: ORDER, headers: someKey() }),
    expected: [201],
  }),
  () => ({ bytes: requestText({ method: 'POST', path: '/api/orders', body: { items: [] } }), expected: [400] }),
  () => ({ bytes: requestText({ method: 'POST', path: '/api/users', body: { name: 'Ada' } }), expected: [400] }),
  () => ({ bytes: badJson(), expected: [400] }),
  () => ({ bytes: requestText({ path: '/nowhere' }), expected: [404] }),
  () => ({ bytes: requestText({ method: 'DELETE', path: '/api/users' }), expected: [405] }),
];

/** @returns {Record<string, string>} */
function someKey() {
  return Math.random() < KEYS ? { 'Idempotency-Key': `soak-${keys++}` } : {};
}

function badJson() {
  return 'POST /api/orders HTTP/1.1\r\nHost: chaos\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"items":';
}

/** What clients of all kinds sent, and what they received. */
export class Traffic {
  sent = 0;
  aborted = 0;
  pipelined = 0;
  received = 0;
  /** @type {Map<string, number>} */
  unexpected = new Map();
  #url;

  /** @param {string} url */
  constructor(url) {
    this.#url = url;
  }

  /**
   * Sends so many requests; resolves when all are finished or aborted, and no connection is left.
   * @param {number} requests
   */
  async send(requests) {
    const until = this.sent + requests;
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (this.sent < until) await this.#visit(until);
      }),
    );
  }

  /** @param {number} until */
  async #visit(until) {
    const connection = await Connection.open(this.#url);
    const closed = new Promise((resolve) => connection.socket.once('close', resolve));
    for (let used = 0; used < MAX_PER_CONNECTION && connection.usable && this.sent < until; used++) {
      const together = Math.random() < PIPELINES ? between(2, MAX_AT_ONCE) : 1;
      const requests = Array.from({ length: together }, () => oneOf(KINDS)());
      this.sent += together;
      if (together > 1) this.pipelined += together;
      if (Math.random() < ABORTS) await this.#abort(connection, requests);
      else await this.#await(connection, requests);
    }
    connection.close();
    await closed;
  }

  /**
   * Disconnects after a part of the bytes, or after all of them.
   * @param {Connection} connection
   * @param {Request[]} requests
   */
  async #abort(connection, requests) {
    this.aborted += requests.length;
    const bytes = requests.map((request) => request.bytes).join('');
    const part = Math.random() < 0.5 ? bytes : bytes.slice(0, between(1, bytes.length - 1));
    await new Promise((resolve) => {
      connection.socket.write(part, () => setTimeout(resolve, Math.random() * ABORTS_WITHIN_MS));
    });
    connection.abort(Math.random() < 0.5);
  }

  /**
   * @param {Connection} connection
   * @param {Request[]} requests
   */
  async #await(connection, requests) {
    await Promise.all(requests.map((request) => this.#send(connection, request)));
  }

  /**
   * @param {Connection} connection
   * @param {Request} request
   */
  async #send(connection, { bytes, expected }) {
    try {
      const { status, text } = await connection.request(bytes);
      this.received++;
      if (!expected.includes(status)) this.#note(`${status} instead of ${expected.join(' or ')}: ${text}`);
      if (status === 201 && text.includes('"email"')) known = JSON.parse(text).id;
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      this.#note(`lost: ${error.message}`);
    }
  }

  /** @param {string} what */
  #note(what) {
    this.unexpected.set(what, (this.unexpected.get(what) ?? 0) + 1);
  }
}
