import { requestText } from '@ambit/host-contract';
import { Connection, Lost } from './connection.mjs';

/** @typedef {import('./ledger.mjs').Work} Work */

/** Keeps one connection to the running server, and opens another when it is lost. */
export class Client {
  #url;
  /** @type {Connection | undefined} */
  #connection;

  /** @param {() => Promise<string> | string} url of the server that listens, now or later */
  constructor(url) {
    this.#url = url;
  }

  /**
   * @param {string} bytes of a request
   * @param {number} [leaveAfterMs] after which the client disconnects, if it has no response yet
   * @returns {Promise<import('@ambit/host-contract').RawResponse | undefined>} undefined when the response was lost
   */
  async send(bytes, leaveAfterMs) {
    let leaving;
    try {
      const connection = await this.#connected();
      if (leaveAfterMs !== undefined) leaving = setTimeout(() => connection.abort(), leaveAfterMs);
      return await connection.request(bytes);
    } catch (error) {
      if (!(error instanceof Lost) || error.hung) throw error;
      return undefined;
    } finally {
      clearTimeout(leaving);
    }
  }

  close() {
    this.#connection?.close();
  }

  async #connected() {
    if (!this.#connection?.usable) this.#connection = await Connection.open(await this.#url());
    return this.#connection;
  }
}

/** @param {Work} work */
export function bytesOf({ kind, key, body }) {
  const path = kind === 'order' ? '/api/orders' : '/api/users';
  return requestText({ method: 'POST', path, body, headers: key === undefined ? {} : { 'idempotency-key': key } });
}

/**
 * Sends the same request from many clients at the same time, distributed over the servers.
 * @param {readonly string[]} urls
 * @param {number} clients
 * @param {string} bytes
 * @returns {Promise<(import('@ambit/host-contract').RawResponse | undefined)[]>}
 */
export async function atOnce(urls, clients, bytes) {
  const chosen = Array.from({ length: clients }, (_, i) => urls[i % urls.length] ?? '');
  const connections = await Promise.all(chosen.map((url) => Connection.open(url)));
  const responses = await Promise.all(connections.map((one) => one.request(bytes).catch(() => undefined)));
  for (const connection of connections) connection.close();
  return responses;
}
