import { headerOf } from './connection.mjs';
import { between, oneOf } from './random.mjs';

/** @typedef {{ productId: string, quantity: number }} Item */

/**
 * @typedef {object} Work something a client wants done
 * @property {'order' | 'user'} kind
 * @property {string} mark in what is stored, tells whose work it was: a product of its own, or a name of its own
 * @property {string | undefined} key
 * @property {{ items: Item[] } | { name: string, email: string }} body
 * @property {string | undefined} answer the first 201, as it came
 * @property {string | undefined} requestId of the request that did it
 * @property {boolean} refused for good: there was not enough stock
 * @property {boolean} denied the only answer said that nothing was done
 */

const RETRY_LATER = /^Service Unavailable/;

/** Who asked for what, and what they were told. */
export class Ledger {
  /** @type {Map<string, Work>} by mark */
  works = new Map();
  /** @type {Set<string>} */
  violations = new Set();
  requests = 0;
  answered = 0;
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
      answer: undefined,
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
   * Writes down what a client was told; says whether it should ask again, if it has a key.
   * @param {Work} work
   * @param {import('./connection.mjs').Answer | undefined} answer undefined when it was lost
   * @returns {'done' | 'again'}
   */
  note(work, answer) {
    this.requests++;
    if (!answer) {
      this.lost++;
      return 'again';
    }
    this.answered++;
    const { status, body } = answer;
    if (status === 201) return this.#stored(work, answer);
    if (status === 409 && work.key && headerOf(answer, 'retry-after')) return 'again';
    if (status === 409 && work.kind === 'order') {
      if (work.answer) this.violations.add(`${work.mark} was acknowledged, and refused later: ${body}`);
      work.refused = true;
      return 'done';
    }
    if (status === 503) {
      this.unavailable++;
      work.denied = work.key === undefined && RETRY_LATER.test(JSON.parse(body).error);
      return 'again';
    }
    this.violations.add(`${work.kind} ${work.mark} was answered ${status}: ${body}`);
    return 'done';
  }

  /**
   * @param {Work} work
   * @param {import('./connection.mjs').Answer} answer
   * @returns {'done'}
   */
  #stored(work, answer) {
    const replayed = headerOf(answer, 'idempotency-replayed') === 'true';
    if (replayed) this.replays++;
    else work.requestId = headerOf(answer, 'x-request-id');
    const { mark } = work;
    if (work.answer === undefined) {
      work.answer = answer.body;
      const { id: _id, createdAt: _at, ...rest } = JSON.parse(answer.body);
      if (JSON.stringify(rest) !== JSON.stringify(work.body)) {
        this.violations.add(`${mark} asked for ${JSON.stringify(work.body)} and was answered ${answer.body}`);
      }
    } else {
      if (answer.body !== work.answer) {
        this.violations.add(`${mark} was answered ${work.answer} first and ${answer.body} later`);
      }
      if (!replayed) this.violations.add(`${mark} was done again under one key`);
    }
    if (work.refused) this.violations.add(`${mark} was refused, and acknowledged later`);
    return 'done';
  }
}
