import { setTimeout as pause } from 'node:timers/promises';
import { bytesOf, Client } from './http.mjs';
import { until } from './program.mjs';
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

/** So many acknowledged orders and users show that an instance works. */
const WORKING = 60;
/** Also where a conflict undoes most of them, on a busy machine. */
const WORKING_WITHIN_MS = 120_000;

/** @typedef {{ ms: number, statuses: Map<string, number> }} Outage */

/** Clients of one instance: what they receive, and when. */
export class Load {
  /** @type {{ at: number, status: string }[]} */
  #responses = [];
  #stop = new AbortController();
  #clients;

  /**
   * @param {string} url
   * @param {Ledger} ledger
   * @param {number} [clients]
   */
  constructor(url, ledger, clients) {
    this.url = url;
    this.ledger = ledger;
    this.#clients = crowd(
      async () => url,
      {
        newWork: () => ledger.newWork(),
        note: (work, response) => {
          this.#responses.push({ at: performance.now(), status: statusOf(response) });
          return ledger.note(work, response);
        },
      },
      this.#stop.signal,
      clients,
    );
  }

  /** Resolves when further orders and users were acknowledged. @param {number} [further] */
  async working(further = WORKING) {
    const enough = this.#acknowledged.length + further;
    const what = `${further} orders and users to be acknowledged`;
    await until(what, async () => this.#acknowledged.length >= enough, WORKING_WITHIN_MS);
  }

  /** Resolves when every client has the response it waits for. */
  async stop() {
    this.#stop.abort();
    await this.#clients;
  }

  /** How many responses of this kind were received. @param {string} status */
  count(status) {
    return this.#responses.filter((response) => response.status === status).length;
  }

  /**
   * The longest time without an acknowledgement, and what clients got meanwhile.
   * @returns {Outage}
   */
  get outage() {
    let [begin, end] = [0, 0];
    this.#acknowledged.reduce((previous, next) => {
      if (next.at - previous.at > end - begin) [begin, end] = [previous.at, next.at];
      return next;
    });
    /** @type {Map<string, number>} */
    const statuses = new Map();
    for (const { at, status } of this.#responses)
      if (at > begin && at < end) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    return { ms: end - begin, statuses };
  }

  get #acknowledged() {
    return this.#responses.filter(({ status }) => status === '201');
  }
}

export const UNKNOWN_OUTCOME = '503, outcome unknown';

/** @param {import('@ambit/test-kit').RawResponse | undefined} response */
function statusOf(response) {
  if (!response) return 'no response';
  if (response.status === 503 && response.headers['retry-after'] === undefined) return UNKNOWN_OUTCOME;
  return String(response.status);
}
