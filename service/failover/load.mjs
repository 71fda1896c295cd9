import { until } from '../chaos/support/program.mjs';
import { crowd } from '../chaos/support/crowd.mjs';

/** So many acknowledged orders and users show that an instance works. */
const WORKING = 60;
/** Also where a conflict undoes most of them, on a busy machine. */
const WORKING_WITHIN_MS = 120_000;

/** @typedef {import('../chaos/support/ledger.mjs').Ledger} Ledger */
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

/** @param {import('@ambit/host-contract').RawResponse | undefined} response */
function statusOf(response) {
  if (!response) return 'no response';
  if (response.status === 503 && response.headers['retry-after'] === undefined) return UNKNOWN_OUTCOME;
  return String(response.status);
}
