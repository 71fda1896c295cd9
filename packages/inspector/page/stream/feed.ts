import type { Hello, Tick } from '../../src/wire.js';
import type { StreamMessage } from './stream-message.js';
import type { Store } from './store.js';

/** Passes each message to the store once and in order, and gets the complete state where one is missing. */
export class Feed {
  readonly #store: Pick<Store, 'begin' | 'tick'>;
  readonly #fetchState: () => Promise<Hello>;
  /** What came while the state is on its way. */
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
