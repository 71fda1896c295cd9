import type { Hello, Now, RequestSummary, ServiceStats, Tick, Trouble } from '../../src/wire.js';
import { refOf } from '../address.js';

/** The changes of one message to the list of requests. */
export interface Change {
  /** New ones and those that are different now. */
  readonly changed: readonly RequestSummary[];
  /** Those that the server has forgotten for newer ones. */
  readonly removed: readonly number[];
  /** Whether the message was the complete state: everything before it is void. */
  readonly complete: boolean;
}

type Listener = (changed: readonly RequestSummary[], change: Change) => void;

/** The state that the server has sent, and the listeners for changes. */
export class Store {
  hello: Hello | undefined;
  now: Now | undefined;
  /** What went wrong, by its cause, the newest first. */
  troubles: readonly Trouble[] = [];
  /** That of the recording before: a restart does not take away what one reads. */
  earlier: readonly Trouble[] = [];
  readonly requests = new Map<number, RequestSummary>();
  readonly services = new Map<string, ServiceStats>();
  /** Texts of statements and keys of services, which requests name by index. */
  readonly names: string[] = [];
  /** As the server keeps them: each in order of arrival, or of the trouble. */
  readonly #sample = new Set<number>();
  readonly #trouble = new Set<number>();
  readonly #listeners: Listener[] = [];
  readonly #onStart: (() => void)[] = [];

  /** From how many milliseconds on a request is slow. */
  get slowMs(): number {
    return this.hello?.slowMs ?? Infinity;
  }

  /** How the page and its links name a request of this recording. */
  refOf(id: number): string {
    return refOf(this.hello?.boot ?? '', id);
  }

  onChange(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Called for the first message of each recording: at first, and after a restart. */
  onStart(listener: () => void): void {
    this.#onStart.push(listener);
  }

  begin(hello: Hello): void {
    const isNew = hello.boot !== this.hello?.boot;
    if (isNew && this.troubles.length > 0) this.earlier = this.troubles;
    this.hello = hello;
    this.troubles = [];
    this.requests.clear();
    this.#sample.clear();
    this.#trouble.clear();
    this.services.clear();
    this.names.length = 0;
    if (isNew) for (const listener of this.#onStart) listener();
    this.#take(hello, true);
  }

  tick(tick: Tick): void {
    this.#take(tick, false);
  }

  stats(box: string, key: string): ServiceStats | undefined {
    return this.services.get(`${box}\n${key}`);
  }

  #take({ now, requests, services, names, troubles }: Tick, complete: boolean): void {
    this.names.splice(names.from, names.texts.length, ...names.texts);
    this.now = now;
    if (troubles) this.troubles = troubles;
    for (const request of requests) this.#put(request);
    const removed = [
      ...this.#removeOldest(this.#sample, this.hello?.keep ?? 0),
      ...this.#removeOldest(this.#trouble, this.hello?.keepTrouble ?? 0),
    ];
    for (const service of services) this.services.set(`${service.box}\n${service.key}`, service);
    const change = { changed: requests, removed, complete };
    for (const listener of this.#listeners) listener(requests, change);
  }

  #put(request: RequestSummary): void {
    const { id, trouble } = request;
    this.requests.set(id, request);
    (trouble ? this.#trouble : this.#sample).add(id);
    if (trouble) this.#sample.delete(id);
  }

  #removeOldest(ring: Set<number>, most: number): number[] {
    const removed: number[] = [];
    for (const id of ring) {
      if (ring.size <= most) break;
      ring.delete(id);
      this.requests.delete(id);
      removed.push(id);
    }
    return removed;
  }
}

/** Passes each message to the store once and in order, and gets the complete state where one is missing. */
export class Feed {
  readonly #store: Pick<Store, 'begin' | 'tick'>;
  readonly #fetchState: () => Promise<Hello>;
  /** Messages that came while the state was on its way. */
  #held: Tick[] | undefined;
  #number = -1;

  constructor(store: Pick<Store, 'begin' | 'tick'>, fetchState: () => Promise<Hello>) {
    this.#store = store;
    this.#fetchState = fetchState;
  }

  take(message: StreamMessage): void {
    if (message.kind === 'hello') {
      this.#held = undefined;
      this.#begin(JSON.parse(message.data) as Hello);
    } else if (message.kind === 'tick') this.#tick(JSON.parse(message.data) as Tick);
    else if (message.kind === 'live') void this.#catchUp([]);
  }

  #begin(hello: Hello): void {
    this.#number = hello.number;
    this.#store.begin(hello);
  }

  #tick(tick: Tick): void {
    if (this.#held) this.#held.push(tick);
    else if (tick.number === this.#number + 1) {
      this.#number = tick.number;
      this.#store.tick(tick);
    } else if (tick.number > this.#number) void this.#catchUp([tick]);
  }

  async #catchUp(held: Tick[]): Promise<void> {
    this.#held = held;
    const hello = await this.#fetchState().catch(() => undefined);
    // The stream has begun again in the meantime, with the complete state.
    if (this.#held !== held) return;
    this.#held = undefined;
    // Without it, the next message asks again.
    if (!hello) return;
    this.#begin(hello);
    for (const tick of held) this.#tick(tick);
  }
}

/** A message of a stream to the tabs that share it. The data is JSON: each tab parses its own copy. */
export type StreamMessage =
  | { readonly kind: 'hello' | 'tick'; readonly data: string }
  /** To a tab that joins a stream that is open: it has to get the state by itself. */
  | { readonly kind: 'live' }
  | { readonly kind: 'reconnecting' };
