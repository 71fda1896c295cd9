import { RawClient, requestText } from '@ambit/host-contract';
import { expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { sqlite } from './support/databases.js';
import { ServiceProcess } from './support/service-process.js';

const CONNECTIONS = 10;
/** Written to each connection at once, of which the service carries out 16. */
const AT_ONCE = 300;
/** The orders of each client, which comes back until it has them; `PIPELINED_ORDERS=4000` for a longer flood. */
const ORDERS = Number(process.env['PIPELINED_ORDERS'] ?? 300);
/** Orders that may be done while another client waits: four times 16 of each connection. Without the limit it would be all 3,000. */
const MOST_BEFORE_ANOTHER = 4 * 16 * CONNECTIONS;

const ORDER = requestText({
  method: 'POST',
  path: '/api/orders',
  body: { items: [{ productId: 'apple', quantity: 1 }] },
});

/** Clients that pipeline orders, and come back each time their connection is closed. */
class Flood {
  responses = 0;
  readonly statuses = new Set<number>();
  isOver = false;
  readonly over: Promise<void>;

  constructor(port: number) {
    const clients = Array.from({ length: CONNECTIONS }, () => this.#pipeline(port));
    this.over = Promise.all(clients)
      .then(() => undefined)
      .finally(() => (this.isOver = true));
  }

  async #pipeline(port: number): Promise<void> {
    for (let orders = 0; orders < ORDERS;) {
      const client = await RawClient.connect(port);
      client.write(ORDER.repeat(AT_ONCE));
      let response = await client.nextResponse({ timeoutMs: 120_000 });
      for (; response; response = await client.nextResponse({ timeoutMs: 120_000 })) {
        this.statuses.add(response.status);
        this.responses += 1;
        orders += 1;
      }
      client.leave();
    }
  }
}

// On SQLite all work of an order is synchronous: nothing else happens until the service lets go of the event loop.
test.each(HOST_VARIANTS)(
  'while clients pipeline orders on %s another client is served in between, and those that come back get all their responses',
  { timeout: 300_000 },
  async (HOST_VARIANT) => {
    await using database = await sqlite.open();
    await using service = new ServiceProcess({ ...database.env, HOST_VARIANT });
    const port = await service.port();
    const flood = new Flood(port);
    let most = 0;
    let probes = 0;
    do {
      const before = flood.responses;
      const client = await RawClient.connect(port);
      expect((await client.request({ path: '/health/live' })).status).toBe(200);
      client.leave();
      most = Math.max(most, flood.responses - before);
      probes += 1;
    } while (!flood.isOver);
    await flood.over;
    // 503 where more orders wait for a connection than get one in time.
    expect([201, 503]).toEqual(expect.arrayContaining([...flood.statuses]));
    expect(probes).toBeGreaterThan(5);
    expect(most).toBeLessThanOrEqual(MOST_BEFORE_ANOTHER);
  },
);

test.each(HOST_VARIANTS)(
  'SIGTERM while clients pipeline orders keeps its limit on %s: the service exits with 0, not by force',
  { timeout: 300_000 },
  async (HOST_VARIANT) => {
    await using database = await sqlite.open();
    await using service = new ServiceProcess({ ...database.env, HOST_VARIANT, SHUTDOWN_TIMEOUT_MS: '2000' });
    const port = await service.port();
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => RawClient.connect(port)));
    for (const client of clients) client.write(ORDER.repeat(AT_ONCE));
    await clients[0]?.response(120_000);
    service.kill('SIGTERM');
    const { code, output } = await service.exit;
    for (const client of clients) client.leave();
    expect([code, output]).toEqual([0, expect.stringContaining('"msg":"stopped"')]);
  },
);
