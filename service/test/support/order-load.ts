import { setTimeout as pause } from 'node:timers/promises';
import { Happenings } from '@ambit/host-contract';
import { request } from './http.js';

const CLIENTS = 4;

/** One order, of a product that no other order has. */
export interface Placed {
  readonly product: string;
  readonly startedAt: number;
  readonly status: number;
  readonly body: unknown;
}

/** Clients that place one order after the other, whatever the responses are, until it ends. */
export class OrderLoad implements AsyncDisposable {
  readonly placed: Placed[] = [];
  readonly #happenings = new Happenings();
  readonly #clients: Promise<unknown>;
  #isOver = false;

  constructor(url: string) {
    this.#clients = Promise.all(Array.from({ length: CLIENTS }, (_, client) => this.#order(url, client)));
    // `end()` reports that the service has exited.
    this.#clients.catch(() => undefined);
  }

  get acknowledged(): readonly Placed[] {
    return this.placed.filter(({ status }) => status === 201);
  }

  /** Resolves when so many more orders were acknowledged. */
  async acknowledges(orders: number): Promise<void> {
    const wanted = this.acknowledged.length + orders;
    await this.#happenings.until(() => this.acknowledged.length >= wanted, `${wanted} orders are acknowledged`, 15_000);
  }

  /** Resolves when every client has its last response. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#clients;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch(() => undefined);
  }

  async #order(url: string, client: number): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      const [product, startedAt] = [`product-${client}-${n}`, performance.now()];
      const order = { items: [{ productId: product, quantity: 1 }] };
      const { status, body } = await request(url, { method: 'POST', path: '/api/orders', body: order });
      this.placed.push({ product, startedAt, status, body });
      this.#happenings.tell();
      // Refused orders would fill the log, and the machine, with nothing else.
      if (status !== 201) await pause(5);
    }
  }
}
