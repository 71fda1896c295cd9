import { setTimeout as pause } from 'node:timers/promises';
import { requestText } from '@ambit/test-kit';
import { Connection, Lost } from '../kit/http.mjs';
import { between } from '../kit/random.mjs';

const UPLOAD_PIECES = 10;

/** @typedef {import('@ambit/test-kit').RawResponse} RawResponse */

/**
 * @typedef {object} Visit one request, and its result
 * @property {string} what
 * @property {number} sentAt when the system had taken its bytes, or the first of them; Infinity if it never did
 * @property {number} endedAt
 * @property {RawResponse | Lost | undefined} end undefined while in progress
 */

/** Clients of a server that will be stopped: they continue until it refuses them. */
export class Visitors {
  /** @type {Visit[]} */
  visits = [];
  #url;
  #over = false;

  /** @param {string} url */
  constructor(url) {
    this.#url = url;
  }

  /** No client sends a new request. */
  stop() {
    this.#over = true;
  }

  /** Sends `together` requests at a time, and the next ones after their responses, always on one connection. */
  async keepAlive(together = 1) {
    const what = together === 1 ? 'keep-alive' : 'pipelined';
    const connection = await this.#connect();
    while (!this.#over) {
      if (!connection?.usable) return;
      await Promise.all(Array.from({ length: together }, () => this.#visit(what, connection)));
    }
  }

  /** Opens a connection for each request. */
  async comeAndGo() {
    while (!this.#over) {
      const connection = await this.#connect();
      if (!connection) return;
      await this.#visit('new connection', connection);
      connection.close();
    }
  }

  /**
   * Sends an order piece by piece.
   * @param {number} ms
   */
  async upload(ms) {
    const connection = await this.#connect();
    if (!connection) return;
    const text = orderText();
    const size = Math.ceil(text.length / UPLOAD_PIECES);
    const visit = this.#begin(`upload of ${ms} ms`);
    const end = this.#end(visit, connection.expectResponse());
    for (let from = 0; from < text.length && connection.usable; from += size) {
      connection.socket.write(
        text.slice(from, from + size),
        () => (visit.sentAt = Math.min(visit.sentAt, performance.now())),
      );
      await pause(ms / UPLOAD_PIECES);
    }
    await end;
  }

  /** One response, then nothing more on a connection that stays open. */
  async idle() {
    const connection = await this.#connect();
    if (connection) await this.#visit('before idling', connection);
  }

  /** Connects, and never sends anything. */
  async silent() {
    await this.#connect();
  }

  /** @param {string} what */
  #begin(what) {
    /** @type {Visit} */
    const visit = { what, sentAt: Infinity, endedAt: Infinity, end: undefined };
    this.visits.push(visit);
    return visit;
  }

  /**
   * @param {string} what
   * @param {Connection} connection
   */
  async #visit(what, connection) {
    const visit = this.#begin(what);
    await this.#end(
      visit,
      connection.request(orderText(), () => (visit.sentAt = performance.now())),
    );
  }

  /**
   * @param {Visit} visit
   * @param {Promise<RawResponse>} response
   */
  async #end(visit, response) {
    try {
      visit.end = await response;
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      visit.end = error;
    }
    visit.endedAt = performance.now();
  }

  async #connect() {
    try {
      return await Connection.open(this.#url);
    } catch (error) {
      if (error instanceof Lost) return undefined;
      throw error;
    }
  }
}

function orderText() {
  const items = Array.from({ length: between(1, 5) }, (_, i) => ({ productId: `free-${i}`, quantity: 1 }));
  return requestText({ method: 'POST', path: '/api/orders', body: { items } });
}
