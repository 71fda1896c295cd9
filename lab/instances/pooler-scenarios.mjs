import { Client } from 'pg';
import { ask, expectEqual, expectStatus } from './client.mjs';
import { SERVER_CONNECTIONS } from '../kit/pgbouncer.mjs';

/** Behind PgBouncer. @type {Record<string, import('./scenarios.mjs').Scenario>} */
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
