import { Happenings } from '@ambit/test-kit';
import type { OutboxEvent } from '../../src/index.js';

type Reaction = (event: OutboxEvent, signal: AbortSignal) => unknown;

/** A receiver of events that remembers what it took, and fails or hangs where the test says so. */
export class Receiver {
  readonly #happenings = new Happenings();
  readonly #reaction: Reaction;
  /** Everything that arrived, failed deliveries included. */
  readonly arrived: OutboxEvent[] = [];
  /** What it took without an error. */
  readonly taken: OutboxEvent[] = [];

  constructor(reaction: Reaction = () => undefined) {
    this.#reaction = reaction;
  }

  readonly deliver = async (event: OutboxEvent, signal: AbortSignal): Promise<void> => {
    this.arrived.push(event);
    this.#happenings.tell();
    await this.#reaction(event, signal);
    this.taken.push(event);
    this.#happenings.tell();
  };

  hasTaken(count: number): Promise<void> {
    return this.#happenings.until(() => this.taken.length >= count, `${count} events were taken`);
  }

  hasSeen(count: number): Promise<void> {
    return this.#happenings.until(() => this.arrived.length >= count, `${count} events arrived`);
  }

  get payloads(): unknown[] {
    return this.taken.map(({ payload }) => payload);
  }

  /** The payloads of one key, in the order in which they were taken first. */
  payloadsOf(key: string): unknown[] {
    const first = new Map(this.taken.toReversed().map((event) => [event.id, event]));
    const ids = new Set(this.taken.map(({ id }) => id));
    return [...ids]
      .map((id) => first.get(id))
      .filter((event) => event?.key === key)
      .map((event) => event?.payload);
  }
}
