import { RawClient, requestText } from '@ambit/host-contract';
import { describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { databaseKinds } from './support/databases.js';
import { ServiceProcess } from './support/service-process.js';

const CONNECTIONS = 10;
/** Written to each connection at once, of which the service carries out 16. */
const AT_ONCE = 300;
/** The orders of each client, which comes back until it has them; `PIPELINED_ORDERS=4000` for a longer flood. */
const ORDERS = Number(process.env['PIPELINED_ORDERS'] ?? 100);
/** Only a flood that is carried out as a whole takes so long; `npm run lab -- pipelining` measures. */
const MOST_MS = 8000;
const SHUTDOWN_MS = 2000;

const ORDER = requestText({
  method: 'POST',
  path: '/api/orders',
  body: { items: [{ productId: 'apple', quantity: 1 }] },
});

const STAGES = HOST_VARIANTS.flatMap((variant) =>
  databaseKinds.map((kind) => ({ variant, kind, database: kind.name })),
);

/** Pipelines orders, and comes back each time the connection is closed; returns the statuses of the responses. */
async function flood(port: number): Promise<number[]> {
  const statuses = new Set<number>();
  for (let orders = 0; orders < ORDERS;) {
    const client = await RawClient.connect(port);
    client.write(ORDER.repeat(AT_ONCE));
    let response = await client.nextResponse({ timeoutMs: 120_000 });
    for (; response; response = await client.nextResponse({ timeoutMs: 120_000 })) {
      statuses.add(response.status);
      orders += 1;
    }
    client.leave();
  }
  return [...statuses];
}

/** On SQLite all work of an order is synchronous: nothing else happens until the service lets go of the event loop. */
describe.each(STAGES)('while clients pipeline orders on $database, with $variant', ({ variant, kind }) => {
  test.skipIf(kind.missing)(
    `another client waits at most ${MOST_MS} ms, and those that come back get all their responses`,
    { timeout: 300_000 },
    async () => {
      await using database = await kind.open();
      await using service = new ServiceProcess({ ...database.env, HOST_VARIANT: variant });
      const port = await service.port();
      const state = { isOver: false };
      const floods = Array.from({ length: CONNECTIONS }, () => flood(port));
      const responses = Promise.all(floods).finally(() => (state.isOver = true));
      let longest = 0;
      let probes = 0;
      do {
        const started = performance.now();
        const client = await RawClient.connect(port);
        expect((await client.request({ path: '/health/live' })).status).toBe(200);
        client.leave();
        longest = Math.max(longest, performance.now() - started);
        probes += 1;
      } while (!state.isOver);
      // 503 where more orders wait for a connection than get one in time.
      for (const statuses of await responses) expect([201, 503]).toEqual(expect.arrayContaining(statuses));
      expect(probes).toBeGreaterThan(5);
      expect(longest).toBeLessThan(MOST_MS);
    },
  );

  test.skipIf(kind.missing)('SIGTERM keeps its limit, and the exit code is 0', { timeout: 300_000 }, async () => {
    await using database = await kind.open();
    await using service = new ServiceProcess({
      ...database.env,
      HOST_VARIANT: variant,
      SHUTDOWN_TIMEOUT_MS: String(SHUTDOWN_MS),
    });
    const port = await service.port();
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => RawClient.connect(port)));
    for (const client of clients) client.write(ORDER.repeat(AT_ONCE));
    await clients[0]?.response(120_000);
    const started = performance.now();
    service.kill('SIGTERM');
    const { code } = await service.exit;
    const took = performance.now() - started;
    for (const client of clients) client.leave();
    expect(code).toBe(0);
    expect(took).toBeLessThan(SHUTDOWN_MS + MOST_MS);
  });
});
