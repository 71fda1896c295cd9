import { connect } from 'node:net';
import { readResponse, requestText } from '@ambit/test-kit';

/** @type {Buffer} */
const EMPTY = Buffer.alloc(0);

/** A response that takes longer is not expected any more. */
const TIMEOUT_MS = 60_000;

/** The connection was closed before the response was complete. */
class Lost extends Error {
  /** The server kept the connection open, and sent nothing. */
  hung = false;
}

/** @typedef {import('@ambit/test-kit').RawResponse} RawResponse */

/** One keep-alive connection of a client, which records exactly what was sent and received. */
class Connection {
  /** @type {{ resolve: (response: RawResponse) => void, reject: (error: Error) => void }[]} */
  #waiting = [];
  #rest = EMPTY;
  #closesAfterResponse = false;
  #hung = false;

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket;
    socket.setTimeout(TIMEOUT_MS, () => this.#onTimeout());
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#lose(new Error('the connection was closed')));
  }

  /**
   * @param {string} url
   * @returns {Promise<Connection>} rejects with Lost when nobody listens there
   */
  static open(url) {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      socket.once('connect', () => resolve(new Connection(socket)));
      socket.once('error', (error) => reject(new Lost('no connection', { cause: error })));
    });
  }

  get usable() {
    return this.socket.writable && !this.socket.readableEnded && !this.#closesAfterResponse;
  }

  /**
   * Sends a request, pipelined behind those in progress. Rejects with Lost when no response will arrive.
   * @param {string | Buffer} bytes
   * @returns {Promise<RawResponse>}
   */
  request(bytes) {
    if (!this.usable) return Promise.reject(new Lost('the connection is closed'));
    this.socket.write(bytes);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  close() {
    this.socket.destroy();
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    try {
      for (let read = readResponse(this.#rest); read; read = readResponse(this.#rest)) {
        this.#rest = this.#rest.subarray(read.length);
        this.#closesAfterResponse ||= read.response.headers['connection']?.toLowerCase() === 'close';
        this.#waiting.shift()?.resolve(read.response);
      }
    } catch (error) {
      this.socket.destroy(/** @type {Error} */ (error));
    }
  }

  #onTimeout() {
    if (this.#waiting.length === 0) return;
    this.#hung = true;
    this.socket.destroy(new Error(`no response for ${TIMEOUT_MS / 1000} s`));
  }

  /** @param {Error} cause */
  #lose(cause) {
    const lost = new Lost(cause.message, { cause });
    lost.hung = this.#hung;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(lost);
  }
}
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
   * @returns {Promise<import('@ambit/test-kit').RawResponse | undefined>} undefined when the response was lost
   */
  async send(bytes, leaveAfterMs) {
    let leaving;
    try {
      const connection = await this.#connected();
      if (leaveAfterMs !== undefined) leaving = setTimeout(() => connection.close(), leaveAfterMs);
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

/** @param {import('./ledger.mjs').Work} work */
export function bytesOf({ kind, key, body }) {
  const path = kind === 'order' ? '/api/orders' : '/api/users';
  return requestText({ method: 'POST', path, body, headers: key === undefined ? {} : { 'idempotency-key': key } });
}

/**
 * Sends the same request from many clients at the same time, distributed over the servers.
 * @param {readonly string[]} urls
 * @param {number} clients
 * @param {string} bytes
 * @returns {Promise<(import('@ambit/test-kit').RawResponse | undefined)[]>}
 */
export async function atOnce(urls, clients, bytes) {
  const chosen = Array.from({ length: clients }, (_, i) => urls[i % urls.length] ?? '');
  const connections = await Promise.all(chosen.map((url) => Connection.open(url)));
  const responses = await Promise.all(connections.map((one) => one.request(bytes).catch(() => undefined)));
  for (const connection of connections) connection.close();
  return responses;
}
