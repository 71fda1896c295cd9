import { Client } from 'pg';
import { SERVER_CONNECTIONS } from '../kit/pgbouncer.mjs';
import { ask, expectEqual, expectStatus } from './client.mjs';
import { Load } from './load.mjs';
import { until } from '../kit/program.mjs';

/** @typedef {(stage: import('./stage.mjs').Stage) => Promise<string>} Scenario resolves with what was observed, throws when the guarantee is broken */

/** @type {Record<string, Scenario>} */
export const BALANCED_SCENARIOS = {
  'clients of the load balancer notice no restart': async ({ instances, balancer, query }) => {
    const load = new Load([balancer.url], 'rolling');
    for (const [index, instance] of instances.entries()) {
      await load.until(100 * (index + 1));
      await balancer.seesBothReady();
      expectEqual('the exit code', await instance.stop('SIGTERM'), 0);
      await instance.start();
    }
    await load.until(300);
    const ledger = await load.end(query);
    expectEqual('the failures that clients saw', load.counts.keyed.failed, []);
    return `${stored(ledger)}, and none sent twice`;
  },

  'the addresses for operators are not reachable through the load balancer': async ({ urls, balancer }) => {
    for (const url of urls) expectStatus(await ask(`${url}/metrics`), 200);
    expectStatus(await ask(`${balancer.url}/metrics`), 404);
    return '/metrics is 200 inside, 404 outside';
  },

  'with no instance running the load balancer responds as the API does, within 2 s': async ({
    instances,
    balancer,
  }) => {
    await Promise.all(instances.map((instance) => instance.stop('SIGKILL')));
    const url = `${balancer.url}/api/orders`;
    const start = performance.now();
    // A request that meets a dying instance twice has no response: HAProxy closes the connection, for the client to send it again.
    await until('HAProxy to notice', () =>
      ask(url).then(
        ({ status }) => status === 503,
        () => false,
      ),
    );
    const body = { items: [{ productId: 'nobody', quantity: 1 }] };
    const responses = await Promise.all([ask(url), ask(url, { body }), ask(url, { body, key: 'nobody' })]);
    const ms = Math.round(performance.now() - start);
    for (const response of responses) {
      expectStatus(response, 503);
      expectEqual('retry-after', response.headers.get('retry-after'), '1');
      expectEqual('content-type', response.headers.get('content-type'), 'application/json');
      expectEqual('body', JSON.parse(response.text), { error: 'Service Unavailable: try again in a moment' });
    }
    if (ms > 2000) throw new Error(`it took ${ms} ms`);
    await Promise.all(instances.map((instance) => instance.start()));
    await balancer.seesBothReady();
    return `503 with Retry-After after ${ms} ms`;
  },
};

/** @param {Awaited<ReturnType<Load['end']>>} ledger */
function stored({ acknowledged }) {
  return `${acknowledged} orders acknowledged and stored`;
}

/** Scenarios behind PgBouncer. @type {Record<string, Scenario>} */
export const POOLER_SCENARIOS = {
  'few connections to PostgreSQL serve many connections of the service': async ({ urls, query }) => {
    const responses = await Promise.all(Array.from({ length: 40 }, (_, index) => ask(`${urls[index % 2]}/api/users`)));
    for (const response of responses) expectStatus(response, 200);
    const [row] = await query(`SELECT count(*)::integer AS n FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'ambit-service'`);
    const used = Number(row?.['n']);
    if (used > SERVER_CONNECTIONS) throw new Error(`${used} connections to PostgreSQL`);
    return `${used} for two instances that may each have 10`;
  },

  'a pooler without a free connection is 503, until one is free': async ({ urls, poolerUrl }) => {
    const admin = new Client(new URL('/pgbouncer', poolerUrl).href);
    await admin.connect();
    await admin.query('SET query_wait_timeout = 1');
    const holders = Array.from({ length: SERVER_CONNECTIONS }, () => new Client(poolerUrl));
    // PgBouncer closes these connections when it stops.
    for (const client of [admin, ...holders]) client.on('error', () => undefined);
    await Promise.all(holders.map((holder) => holder.connect().then(() => holder.query('BEGIN'))));
    const body = { items: [{ productId: 'waiting', quantity: 1 }] };
    for (const response of await Promise.all(urls.map((url) => ask(`${url}/api/orders`, { body })))) {
      expectStatus(response, 503);
      expectEqual('retry-after', response.headers.get('retry-after'), '1');
    }
    await Promise.all(holders.map((holder) => holder.query('ROLLBACK').then(() => holder.end())));
    for (const url of urls) expectStatus(await ask(`${url}/api/orders`, { body }), 201);
    await admin.end();
    return 'Retry-After: 1, then 201';
  },
};
