import { Client } from '../kit/http.mjs';
import { orderText } from './order-load.mjs';
import { startServer, stopServer } from '../kit/service.mjs';
import { checkStock, Findings, readOrders } from '../kit/stored.mjs';

/** @typedef {import('./order-load.mjs').Acknowledged} Acknowledged */

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
