import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask, expectEqual, expectStatus } from '../instances/client.mjs';
import { isListening, until } from '../instances/program.mjs';

const POOLER = new URL('postgres://127.0.0.1:6432');

/** PgBouncer's image as compose.yaml starts it, between the service's image and PostgreSQL. @param {string} folder */
export const poolerStory = (folder) => ({
  /** @type {import('./stories.mjs').Story} */
  'serves the service through PgBouncer, with prepared statements': async (place, host) => {
    if (await isListening(POOLER)) throw new Error(`Another program listens on ${POOLER.host}`);
    const url = new URL(place.database);
    [url.host, url.password] = [POOLER.host, 'letters1and2digits'];
    const users = join(folder, 'pgbouncer_users');
    writeFileSync(users, `"${url.username}" "${url.password}"`, { mode: 0o644 });
    const args = ['--add-host', `postgres:${place.database.hostname}`, '--volume', `${users}:/pgbouncer_users:ro`];
    const pooler = await place.run({ args }, 'ambit-pgbouncer');
    await until('PgBouncer', () => isListening(POOLER));
    const service = await place.startService(host, { DATABASE_URL: url.href, DATABASE_PREPARE: 'true' });
    const body = { items: [{ productId: 'apple', quantity: 1 }] };
    const responses = await Promise.all(Array.from({ length: 100 }, () => ask(`${service.url}/api/orders`, { body })));
    for (const response of responses) expectStatus(response, 201);
    const [row] = await place.query('SELECT count(*)::integer AS n FROM orders');
    expectEqual('orders', row?.['n'], responses.length);
    const version = /PgBouncer (\S+)/.exec(await pooler.exec('pgbouncer', '--version'))?.[1];
    return `${responses.length} orders through PgBouncer ${version}, user ${await pooler.exec('id', '-un')}`;
  },
});
