import { setTimeout as pause } from 'node:timers/promises';
import { bytesOf, Client } from './client.mjs';
import { between } from './random.mjs';

const CLIENTS = 24;
/** Of the requests, how many lose their client before it could have an answer. */
const LEAVES = 0.03;
const LEAVES_WITHIN_MS = 15;
/** Of the answers lost, how many are never asked for again. */
const GIVES_UP = 0.02;
/** Of the acknowledged works under a key, how many are asked for again at once. */
const REPLAYS = 0.1;
const MOST_LAST_REPLAYS = 500;
const AGAIN_AFTER_MS = 20;

/** @typedef {import('./ledger.mjs').Ledger} Ledger */

/**
 * Clients that order, ask again with the same key when an answer was lost, and now and then leave in the middle.
 * @param {() => Promise<string>} url
 * @param {Ledger} ledger
 * @param {AbortSignal} over
 */
export async function crowd(url, ledger, over) {
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const client = new Client(url);
      while (!over.aborted) await insist(client, ledger);
      client.close();
    }),
  );
}

/**
 * @param {Client} client
 * @param {Ledger} ledger
 */
async function insist(client, ledger) {
  const work = ledger.newWork();
  const bytes = bytesOf(work);
  for (;;) {
    const leaveAfterMs = Math.random() < LEAVES ? Math.random() * LEAVES_WITHIN_MS : undefined;
    const said = ledger.note(work, await client.send(bytes, leaveAfterMs));
    if (said === 'done' && work.key !== undefined && work.answer !== undefined && Math.random() < REPLAYS) continue;
    if (said === 'done' || work.key === undefined || Math.random() < GIVES_UP) return;
    await pause(between(1, AGAIN_AFTER_MS));
  }
}

/**
 * When all is quiet again: what was acknowledged under a key is answered as it was then.
 * @param {string} url
 * @param {Ledger} ledger
 */
export async function replay(url, ledger) {
  const client = new Client(() => url);
  const acknowledged = [...ledger.works.values()].filter(
    ({ key, answer }) => key !== undefined && answer !== undefined,
  );
  const share = MOST_LAST_REPLAYS / acknowledged.length;
  for (const work of acknowledged.filter(() => Math.random() < share)) {
    if (ledger.note(work, await client.send(bytesOf(work))) === 'again') {
      ledger.violations.add(`${work.mark} was acknowledged, and not answered again although all was quiet`);
    }
  }
  client.close();
}
