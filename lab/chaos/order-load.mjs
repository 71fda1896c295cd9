import { requestText } from '@ambit/host-contract';
import { Connection, Lost } from '../kit/http.mjs';

const CLIENTS = 8;

/** The product of every order whose level is counted. */
export const STOCKED = 'stocked';
export const LEVEL = 100_000_000;

/** @typedef {{ mark: string, body: string, at: number }} Acknowledged `at` is when the response arrived */

/** Clients that place one keyed order after the other, until the server has exited. */
export class OrderLoad {
  /** @type {Acknowledged[]} */
  acknowledged = [];
  /** @type {string[]} responses other than 201 */
  refused = [];
  #stopping = false;
  #clients;

  /**
   * @param {string} url
   * @param {string} name which no other load of the database has
   */
  constructor(url, name) {
    let next = 0;
    this.#clients = Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        const connection = await Connection.open(url);
        try {
          while (!this.#stopping) await this.#place(connection, `${name}-${next++}`);
        } catch (error) {
          if (!(error instanceof Lost)) throw error;
        } finally {
          connection.close();
        }
      }),
    );
  }

  /**
   * @param {Connection} connection
   * @param {string} mark
   */
  async #place(connection, mark) {
    const { status, text } = await connection.request(orderText(mark));
    if (status === 201) this.acknowledged.push({ mark, body: text, at: performance.now() });
    else this.refused.push(`${mark} got ${status}: ${text}`);
  }

  /** Resolves when every client has its last response, or has lost the server. */
  async end() {
    this.#stopping = true;
    await this.#clients;
  }
}

/** @param {string} mark a product that no other order has, and the key of the request */
export function orderText(mark) {
  const items = [mark, STOCKED].map((productId) => ({ productId, quantity: 1 }));
  return requestText({ method: 'POST', path: '/api/orders', body: { items }, headers: { 'idempotency-key': mark } });
}
