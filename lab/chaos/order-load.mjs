import { requestText } from '@ambit/test-kit';
import { Client, Connection, Lost } from '../kit/http.mjs';
import { startServer, stopServer } from '../kit/service.mjs';
import { checkStock, Findings, readOrders } from '../kit/stored.mjs';

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
function orderText(mark) {
  const items = [mark, STOCKED].map((productId) => ({ productId, quantity: 1 }));
  return requestText({ method: 'POST', path: '/api/orders', body: { items }, headers: { 'idempotency-key': mark } });
}

/**
 * Checks that a database after a failure is whole and that the service goes on with it. Returns the orders it lacks.
 * @param {import('./protected.mjs').ProtectedDatabase} restored
 * @param {import('../kit/options.mjs').Host} host
 * @param {readonly Acknowledged[]} acknowledged
 * @param {ReadonlyMap<string, number>} stock the levels before the first order
 */
export async function checkRestored(restored, host, acknowledged, stock) {
  const findings = new Findings();
  const orders = await readOrders(restored, findings);
  await checkStock(restored, stock, findings);
  if (findings.total > 0) throw new Error(findings.reported.join('\n'));

  const stored = new Set(orders.flatMap(({ items }) => items.map(({ productId }) => productId)));
  const kept = acknowledged.filter(({ mark }) => stored.has(mark));
  await goOn(host, restored.env, kept.at(-1));
  return acknowledged.filter(({ mark }) => !stored.has(mark));
}

/**
 * @param {import('../kit/options.mjs').Host} host
 * @param {Record<string, string>} env
 * @param {Acknowledged | undefined} known
 */
async function goOn(host, env, known) {
  const server = await startServer(host, env);
  const client = new Client(() => server.url);
  try {
    const placed = await client.send(orderText('after-the-failure'));
    if (placed?.status !== 201) throw new Error(`a new order got ${placed?.status} ${placed?.text}`);
    if (!known) return;
    const again = await client.send(orderText(known.mark));
    const replayed = again !== undefined && again.headers['idempotency-replayed'] === 'true';
    if (!replayed || again.text !== known.body) throw new Error(`${known.body} was repeated as ${again?.text}`);
  } finally {
    client.close();
    await stopServer(server);
  }
}
