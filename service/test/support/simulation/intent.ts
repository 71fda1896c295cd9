import { isDeepStrictEqual } from 'node:util';
import type { RawResponse } from '@ambit/host-contract';
import type { Values } from './database.js';
import type { Run } from './run.js';

export interface OrderItem {
  readonly productId: string;
  readonly quantity: number;
}

/** What a client sends: the items of an order, or a user. */
export type Wanted = { readonly items: readonly OrderItem[] } | { readonly name: string; readonly email: string };

/** What an order may wait for: a connection (2 s), its time limit (8 s), and ROLLBACK or COMMIT (10 s). */
const LONGEST_MS = 22_000;

/** A request that was sent, whole or in part, and the response that was heard. */
export class Attempt {
  readonly what: string;
  readonly text: string;
  isWhole = true;
  /** It waits for no other request on its connection. */
  isAlone = false;
  /** When its last byte was there. */
  arrivedAt = Infinity;
  response: RawResponse | undefined = undefined;
  readonly #run: Run;
  readonly #intent: Intent | undefined;

  constructor(run: Run, what: string, text: string, intent?: Intent) {
    this.#run = run;
    this.what = what;
    this.text = text;
    this.#intent = intent;
  }

  hear(response: RawResponse): void {
    this.response = response;
    const ms = this.#run.clock.now() - this.arrivedAt;
    if (this.isAlone && this.#intent?.kind === 'orders' && ms > LONGEST_MS)
      this.#run.broke(`${this.what} was responded to after ${ms} ms`);
    const { status, text, headers } = response;
    if (!headers['x-request-id']) this.#run.broke(`the response to ${this.what} has no id`);
    if (status === 201 || (status >= 400 && JSON.parse(text).error)) this.#intent?.hear(response);
    else if (this.#intent) this.#run.broke(`the response to ${this.what} is ${status} ${text}`);
    if (status >= 500 && this.#run.struck === 0 && !text.includes('draining'))
      this.#run.broke(`nothing went wrong, and ${this.what}: ${status} ${text}`);
  }

  /** The response says that this request has stored nothing. Where there is none, nobody knows. */
  get wasRefused(): boolean {
    const { response } = this;
    return response !== undefined && response.status !== 201 && !response.text.includes('It is not known whether');
  }
}

/** What a client wants, once: an order or a user with a mark of its own, asked for once, or several times with the same key. */
export class Intent {
  readonly kind: 'orders' | 'users';
  readonly mark: string;
  readonly key: string | undefined;
  readonly wanted: Wanted;
  readonly attempts: Attempt[] = [];
  readonly #run: Run;
  /** The response that each other one with the same key has to equal. */
  #first: string | undefined = undefined;

  constructor(run: Run, mark: string, key: string | undefined, wanted: Wanted) {
    this.#run = run;
    this.kind = 'items' in wanted ? 'orders' : 'users';
    this.mark = mark;
    this.key = key;
    this.wanted = wanted;
  }

  attempt(): Attempt {
    const key = this.key === undefined ? '' : `idempotency-key: ${this.key}\r\n`;
    const body = JSON.stringify(this.wanted);
    const head = `POST /api/${this.kind} HTTP/1.1\r\nhost: shop\r\ncontent-type: application/json\r\n${key}`;
    const text = `${head}content-length: ${body.length}\r\n\r\n${body}`;
    const what = `${this.kind} ${this.mark}${this.key === undefined ? '' : ` with key ${this.key}`}`;
    const attempt = new Attempt(this.#run, what, text, this);
    this.attempts.push(attempt);
    return attempt;
  }

  /** At the moment of the acknowledgement it must be so. */
  hear({ status, text }: RawResponse): void {
    if (status !== 201) return;
    const { id, items, name, email } = JSON.parse(text) as Record<string, unknown>;
    const given = this.kind === 'orders' ? { items } : { name, email };
    if (!isDeepStrictEqual(given, this.wanted)) this.#run.broke(`${this.mark} was responded to with ${text}`);
    if (!this.stored.some((row) => row['id'] === id)) this.#run.broke(`${this.mark} was acknowledged and not stored`);
    if (this.#first !== undefined && this.#first !== text && this.#run.expiries === 0)
      this.#run.broke(`${this.mark} was responded to with ${text}, and before with ${this.#first}`);
    this.#first ??= text;
  }

  /** The committed rows that have its mark. */
  get stored(): Values[] {
    const { database } = this.#run;
    if (this.kind === 'users') return database.committed('users').filter(({ name }) => name === this.mark);
    const items = database.committed('order_items').filter(({ product_id: product }) => product === this.mark);
    const ids = new Set(items.map(({ order_id: id }) => id));
    return database.committed('orders').filter(({ id }) => ids.has(id));
  }

  check(): void {
    const { stored, attempts, mark } = this;
    const says = attempts.map(({ response }) => response?.status ?? 'nothing').join(', ');
    if (stored.length > 0 && attempts.every(({ wasRefused }) => wasRefused))
      this.#run.broke(`${mark} is stored, and its client heard ${says}`);
    if (this.#first !== undefined && stored.length === 0)
      this.#run.broke(`${mark} is not stored, and its client heard ${says}`);
  }
}
