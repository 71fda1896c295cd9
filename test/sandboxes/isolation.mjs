import { startService, TABLES, withClient } from './server.mjs';

/**
 * Where a test sends its requests, and with which headers, so that it finds an empty database.
 * @typedef {{ url: string, headers: Record<string, string>, release: () => Promise<void> }} Isolated
 */

/** The service that all tests share, which `run.mjs` has started. */
const shared = () => ({ url: process.env['SERVICE_URL'] ?? '', database: process.env['SERVICE_DATABASE'] ?? '' });

/** @type {Record<string, () => Promise<Isolated>>} */
const isolations = {
  sandbox: async () => {
    const { url } = shared();
    const response = await fetch(`${url}/sandboxes`, { method: 'POST' });
    const { id } = /** @type {{ id: string }} */ (await response.json());
    return {
      url,
      headers: { 'x-ambit-sandbox': id },
      release: async () => void (await fetch(`${url}/sandboxes/${id}`, { method: 'DELETE' })),
    };
  },
  truncate: async () => {
    const { url, database } = shared();
    await withClient(database, (client) => client.query(`TRUNCATE ${TABLES.join(', ')}`));
    return { url, headers: {}, release: async () => undefined };
  },
  'new database': async () => {
    const { url, stop } = await startService(2);
    return { url, headers: {}, release: stop };
  },
};

/** @param {string | undefined} name */
export function isolationNamed(name = 'sandbox') {
  const isolate = isolations[name];
  if (isolate) return isolate;
  throw new Error(`ISOLATION must be one of ${Object.keys(isolations).join(', ')}, not ${name}`);
}
