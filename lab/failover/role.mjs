import { Client } from 'pg';

/** A server that takes longer is not there. */
const RESPONDS_WITHIN_MS = 1000;

/**
 * A client that does not wait for a server that hangs.
 * @param {string} url
 */
function impatientClient(url) {
  const limits = { connectionTimeoutMillis: RESPONDS_WITHIN_MS, query_timeout: RESPONDS_WITHIN_MS };
  const client = new Client({ connectionString: url, ...limits });
  // When the server stops, the statement in progress rejects as well.
  client.on('error', () => undefined);
  return client;
}

/**
 * What a server says that it is.
 * @param {string} url
 * @returns {Promise<'primary' | 'standby' | 'away'>}
 */
export async function roleOf(url) {
  const client = impatientClient(url);
  try {
    await client.connect();
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby');
    return rows[0].standby ? 'standby' : 'primary';
  } catch {
    return 'away';
  } finally {
    void client.end().catch(() => undefined);
  }
}
