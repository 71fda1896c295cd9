import { setTimeout as pause } from 'node:timers/promises';
import { startServer, stopServer } from '../kit/service.mjs';
import { UNKNOWN_OUTCOME } from '../kit/crowd.mjs';

const MISTAKEN_MS = 3000;
/** Longer than QUERY_TIMEOUT_MS: the service cancels each COMMIT that waits for the standby. */
const UNCONFIRMED_MS = 6000;

/** The pools then connect again, and HAProxy has two primaries to choose from. */
const CLOSE_CONNECTIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;

/** @typedef {import('./pair.mjs').Pair} Pair */

/**
 * @template C
 * @typedef {(cluster: C, loads: readonly import('../kit/crowd.mjs').Load[], refute: (what: string) => void) => Promise<string>} Fault
 *   returns what it can prove, and calls `refute` with what must never happen and did
 */

/** @type {Record<string, Fault<Pair>>} */
export const FAULTS = {
  'kill -9 of the primary': async (pair) => {
    pair.primary.kill();
    await pair.failOver();
    return '';
  },
  'ordered stop of the primary': async (pair) => {
    await pair.primary.stop('fast');
    await pair.failOver();
    return '';
  },
  'primary frozen, replaced, thawed': async (pair) => {
    const old = pair.primary;
    old.freeze();
    await pair.failOver();
    old.thaw();
    return pair.demote(old);
  },
  'the same, and nobody fences the old primary': async (pair) => {
    const old = pair.primary;
    old.freeze();
    await pair.balancer.sees(old.name, false);
    await pair.promote();
    const before = await pair.balancer.connectionsTo(old.name);
    old.thaw();
    await pair.balancer.sees(old.name);
    await pair.primary.query(CLOSE_CONNECTIONS);
    await pause(UNCONFIRMED_MS);
    const got = (await pair.balancer.connectionsTo(old.name)) - before;
    if (got === 0) throw new Error('No connection reached the old primary');
    await old.stop('immediate');
    return `${got} connections reached the old primary`;
  },
  'connections sent to the standby': async ({ balancer, primary, standby, url }) => {
    const before = await balancer.connectionsTo(standby.name);
    await balancer.mistake(standby.name);
    await balancer.fence(primary.name);
    const late = startServer('express', { DATABASE_URL: url });
    await pause(MISTAKEN_MS);
    await balancer.check(standby.name);
    await balancer.readmit(primary.name);
    await balancer.sees(standby.name, false);
    const got = (await balancer.connectionsTo(standby.name)) - before;
    if (got === 0) throw new Error('No connection was sent to the standby');
    await stopServer(await late);
    return `${got} connections in ${MISTAKEN_MS / 1000} s; an instance that was started then waited for the primary`;
  },
  'COMMITs that no standby confirms, then kill -9': async (pair, loads) => {
    await pair.standby.stop('immediate');
    await pause(UNCONFIRMED_MS);
    const unknown = loads.reduce((sum, load) => sum + load.count(UNKNOWN_OUTCOME), 0);
    const stored = await idsIn(pair);
    pair.primary.kill();
    await pair.standby.start();
    await pair.failOver();
    // By their ids: the new primary has stored others by now.
    const kept = new Set(await idsIn(pair));
    const lost = stored.filter((id) => !kept.has(id)).length;
    if (lost === 0) throw new Error('Everything stored on the killed node was on the standby, too');
    return `${unknown} responses of unknown outcome; ${lost} orders and users were on the killed node only`;
  },
};

/** Of all orders and users. @param {Pair} pair */
async function idsIn({ primary }) {
  const rows = await primary.query('SELECT id FROM orders UNION ALL SELECT id FROM users');
  return rows.map((row) => row['id']);
}
