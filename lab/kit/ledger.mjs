import { between, oneOf } from './random.mjs';

/** @typedef {{ productId: string, quantity: number }} Item */

/**
 * @typedef {object} Work what a client wants to be done
 * @property {'order' | 'user'} kind
 * @property {string} mark identifies the work in the database: a product or a name that nothing else has
 * @property {string | undefined} key
 * @property {{ items: Item[] } | { name: string, email: string }} body
 * @property {string | undefined} response the body of the first 201
 * @property {string | undefined} requestId of the request that did it
 * @property {boolean} refused finally: there was not enough stock
 * @property {boolean} denied the only response said that nothing was done
 */

const RETRY_LATER = /^Service Unavailable/;

/** What clients requested, and which responses they received. */
export class Ledger {
  /** @type {Map<string, Work>} by mark */
  works = new Map();
  /** @type {Set<string>} */
  violations = new Set();
  requests = 0;
  received = 0;
  lost = 0;
  unavailable = 0;
  replays = 0;
  #products;

  /** @param {readonly [string, ...string[]]} products to order, besides those that make a mark */
  constructor(products) {
    this.#products = products;
  }

  /** @returns {Work} */
  newWork() {
    const mark = `w${this.works.size}`;
    const isOrder = Math.random() < 0.85;
    /** @type {Work} */
    const work = {
      kind: isOrder ? 'order' : 'user',
      mark,
      key: Math.random() < 0.6 ? `key-${mark}` : undefined,
      body: isOrder ? { items: this.#items(mark) } : { name: mark, email: `${mark}@example.org` },
      response: undefined,
      requestId: undefined,
      refused: false,
      denied: false,
    };
    this.works.set(mark, work);
    return work;
  }

  /** @param {string} mark */
  #items(mark) {
    const item = () => ({ productId: oneOf(this.#products), quantity: between(1, 3) });
    const items = Array.from({ length: between(0, 4) }, item);
    items.splice(between(0, items.length), 0, { productId: mark, quantity: 1 });
    return items;
  }

  /**
   * Records the response of a request; returns whether the client should repeat the request, if it has a key.
   * @param {Work} work
   * @param {import('@ambit/test-kit').RawResponse | undefined} response undefined when it was lost
   * @returns {'done' | 'again'}
   */
  note(work, response) {
    this.requests++;
    if (!response) {
      this.lost++;
      return 'again';
    }
    this.received++;
    const { status, text } = response;
    if (status === 201) return this.#stored(work, response);
    if (status === 409 && work.key && response.headers['retry-after']) return 'again';
    if (status === 409 && work.kind === 'order') {
      if (work.response) this.violations.add(`${work.mark} was acknowledged, and refused later: ${text}`);
      work.refused = true;
      return 'done';
    }
    if (status === 503) {
      this.unavailable++;
      work.denied = work.key === undefined && RETRY_LATER.test(JSON.parse(text).error);
      return 'again';
    }
    this.violations.add(`${work.kind} ${work.mark} got ${status}: ${text}`);
    return 'done';
  }

  /**
   * @param {Work} work
   * @param {import('@ambit/test-kit').RawResponse} response
   * @returns {'done'}
   */
  #stored(work, response) {
    const replayed = response.headers['idempotency-replayed'] === 'true';
    if (replayed) this.replays++;
    else work.requestId = response.headers['x-request-id'];
    const { mark } = work;
    if (work.response === undefined) {
      work.response = response.text;
      const { id: _id, createdAt: _at, ...rest } = JSON.parse(response.text);
      if (JSON.stringify(rest) !== JSON.stringify(work.body)) {
        this.violations.add(`${mark} requested ${JSON.stringify(work.body)} and got ${response.text}`);
      }
    } else {
      if (response.text !== work.response) {
        this.violations.add(`${mark} got ${work.response} first and ${response.text} later`);
      }
      if (!replayed) this.violations.add(`${mark} was done twice under one key`);
    }
    if (work.refused) this.violations.add(`${mark} was refused, and acknowledged later`);
    return 'done';
  }
}
