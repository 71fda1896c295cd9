import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Primaries, PRODUCTS, STOCK } from './primaries.js';

/** Less than the second that Retry-After names, so that more requests fall into a move. */
const RETRY_MS = 20;

/** A client does not wait for an instance that is stopped: it sends the order to the next one. */
const REQUEST_TIMEOUT_MS = 1000;

/** Clients of all instances, which send an order until it is placed, and what they were promised. */
export class Customers {
  /** The orders of each tenant that were acknowledged, with their products. */
  readonly acknowledged = new Map<string, Map<string, string>>();
  readonly statuses = new Map<string, number>();
  /** Responses that must not be. */
  readonly odd: string[] = [];
  #isStopping = false;
  readonly #clients: Promise<unknown>;
  readonly #urls: () => readonly string[];

  /** @param urls of the instances of the moment */
  constructor(tenants: readonly string[], urls: () => readonly string[], clients = 4) {
    this.#urls = urls;
    for (const tenant of tenants) this.acknowledged.set(tenant, new Map());
    const each = async (_: unknown, number: number): Promise<void> => {
      for (let turn = number; !this.#isStopping; turn += 1)
        await this.#order(tenants[turn % tenants.length] ?? '', turn);
    };
    this.#clients = Promise.all(Array.from({ length: clients }, each));
  }

  get count(): number {
    return [...this.acknowledged.values()].reduce((sum, orders) => sum + orders.size, 0);
  }

  /** Resolves when so many more orders are acknowledged. */
  async placed(more: number): Promise<void> {
    const enough = this.count + more;
    while (this.count < enough) await pause(5);
  }

  /** Resolves when each client has placed the order that it has begun. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#clients;
  }

  async #order(tenant: string, turn: number): Promise<void> {
    const order = { id: randomUUID(), product: PRODUCTS[turn % PRODUCTS.length] ?? '', quantity: 1 };
    const headers = { 'x-tenant': tenant, 'content-type': 'application/json' };
    const at = { turn };
    await this.#send(at, 201, '/orders', { method: 'POST', headers, body: JSON.stringify(order) });
    this.acknowledged.get(tenant)?.set(order.id, order.product);
    // The next instance may not have heard of the move yet.
    await this.#send(at, 200, `/orders/${order.id}`, { headers });
  }

  /** Until the response has this status, on one instance after the other. */
  async #send(at: { turn: number }, wanted: number, path: string, init: RequestInit): Promise<void> {
    for (;;) {
      const urls = this.#urls();
      const url = `${urls[(at.turn += 1) % urls.length]}${path}`;
      const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
      const response = await fetch(url, { ...init, signal }).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      const status = text === undefined ? 'no response' : String(response?.status);
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      if (response?.status === wanted) return;
      const mayRepeat = status === 'no response' || (status === '503' && response?.headers.get('retry-after') === '1');
      if (!mayRepeat) this.odd.push(`${init.method ?? 'GET'} ${path} got ${status}: ${text}`);
      if (this.odd.length > 20) throw new Error(this.odd.join('\n'));
      await pause(RETRY_MS);
    }
  }

  /** Compares what was acknowledged with what each tenant has where the directory says it is. */
  async violations(primaries: Primaries): Promise<string[]> {
    const found = [...this.odd];
    for (const [tenant, acknowledged] of this.acknowledged) {
      const { home } = await primaries.directory.find(tenant);
      const database = `shop_${tenant}`;
      const stored = await primaries.query<{ id: string }>(home.name, database, 'SELECT id FROM orders');
      const ids = new Set(stored.map(({ id }) => id));
      for (const id of acknowledged.keys()) if (!ids.has(id)) found.push(`${tenant} lost the order ${id}`);
      if (ids.size !== acknowledged.size) found.push(`${tenant} has ${ids.size} orders of ${acknowledged.size}`);
      const levels = await primaries.query<{ product: string; level: number }>(
        home.name,
        database,
        'SELECT product, level FROM stock',
      );
      for (const { product, level } of levels) {
        const sold = [...acknowledged.values()].filter((name) => name === product).length;
        if (level !== STOCK - sold) found.push(`${tenant} has ${level} of ${product} after ${sold} orders`);
      }
    }
    return found;
  }
}
