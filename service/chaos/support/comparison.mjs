import { checkGuarantees } from './guarantees.mjs';
import { checkStock, readOrders } from './stored.mjs';

/** @type {(name: string, count: number, level: number) => [string, number][]} */
const products = (name, count, level) => Array.from({ length: count }, (_, i) => [`${name}-${i}`, level]);
/** The initial levels. */
export const STOCK = new Map([...products('plenty', 30, 1_000_000), ...products('few', 4, 40)]);
/** @type {readonly [string, ...string[]]} */
export const PRODUCTS = ['untracked', ...STOCK.keys()];
/** Of violations. */
export const KINDS = [
  'acknowledged and missing',
  'half-written',
  'stock',
  'keys',
  'done more than once',
  'denied and done',
  'responses',
  'process',
];

/**
 * Compares everything that is stored with the responses in the ledger; returns the orders.
 * @param {import('./database.mjs').Stored} database
 * @param {import('./ledger.mjs').Ledger} ledger
 * @param {import('./stored.mjs').Findings} findings
 */
export async function compare(database, ledger, findings) {
  const orders = await readOrders(database, findings);
  await checkStock(database, STOCK, findings);
  await checkGuarantees(database, orders, ledger, findings);
  return orders;
}
