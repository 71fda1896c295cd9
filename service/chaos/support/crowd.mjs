import { setTimeout as pause } from 'node:timers/promises';
import { bytesOf, Client } from './client.mjs';
import { between } from './random.mjs';

const CLIENTS = 24;
/** The share of requests whose client disconnects before the response. */
const LEAVES = 0.03;
const LEAVES_WITHIN_MS = 15;
/** The share of lost responses whose request is never repeated. */
const NOT_REPEATED = 0.02;
/** The share of acknowledged requests with a key that are repeated at once. */
const REPLAYS = 0.1;
const LAST_REPLAYS = 500;
const AGAIN_AFTER_MS = 20;

/** @typedef {import('./ledger.mjs').Ledger} Ledger */
/** @typedef {Pick<Ledger, 'newWork' | 'note'>} Notes what the clients of a crowd write down */

/**
 * Clients that order, repeat a request with the same key when its response was lost, and sometimes disconnect.
 * @param {() => Promise<string>} url
 * @param {Notes} ledger
 * @param {AbortSignal} over
 * @param {number} [clients]
 */
export async function crowd(url, ledger, over, clients = CLIENTS) {
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const client = new Client(url);
      while (!over.aborted) await insist(client, ledger);
      client.close();
    }),
  );
}

/**
 * @param {Client} client
 * @param {Notes} ledger
 */
async function insist(client, ledger) {
  const work = ledger.newWork();
  const bytes = bytesOf(work);
  for (;;) {
    const leaveAfterMs = Math.random() < LEAVES ? Math.random() * LEAVES_WITHIN_MS : undefined;
    const said = ledger.note(work, await client.send(bytes, leaveAfterMs));
    if (said === 'done' && work.key !== undefined && work.response !== undefined && Math.random() < REPLAYS) continue;
    if (said === 'done' || work.key === undefined || Math.random() < NOT_REPEATED) return;
    await pause(between(1, AGAIN_AFTER_MS));
  }
}

/**
 * After the failures: a repeated request gets the response that was acknowledged under its key.
 * @param {string} url
 * @param {Ledger} ledger
 * @param {number} [most] how many are repeated, about
 */
export async function replay(url, ledger, most = LAST_REPLAYS) {
  const client = new Client(() => url);
  const acknowledged = [...ledger.works.values()].filter(
    ({ key, response }) => key !== undefined && response !== undefined,
  );
  const share = most / acknowledged.length;
  for (const work of acknowledged.filter(() => Math.random() < share)) {
    if (ledger.note(work, await client.send(bytesOf(work))) === 'again') {
      ledger.violations.add(`${work.mark} was acknowledged, but its repetition failed after all failures were over`);
    }
  }
  client.close();
}
