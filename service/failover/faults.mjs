import { setTimeout as pause } from 'node:timers/promises';
import { UNKNOWN_OUTCOME } from './load.mjs';

const MISTAKEN_MS = 3000;
const THAWED_MS = 1000;
/** Longer than QUERY_TIMEOUT_MS: the service cancels each COMMIT that waits for the standby. */
const UNCONFIRMED_MS = 6000;

/** @typedef {import('./pair.mjs').Pair} Pair */
/** @typedef {import('./load.mjs').Load} Load */
/** @typedef {(pair: Pair, loads: readonly Load[]) => Promise<string>} Fault returns what it can prove */

/** @type {Record<string, Fault>} */
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
      const got = await pair.balancer.connectionsTo(old.name);
      old.thaw();
      // It believes that it is the primary, and still has the statements that were in progress.
      await pause(THAWED_MS);
      const [row] = await old.query('SELECT pg_is_in_recovery()::text AS recovery');
      if (row?.['recovery'] !== 'false') throw new Error('The thawed node is not a primary any more');
      const reached = (await pair.balancer.connectionsTo(old.name)) - got;
      if (reached > 0) throw new Error(`${reached} connections reached the fenced node`);
      await old.stop('immediate');
      return 'for 1 s there were two primaries; no connection reached the old one';
  },
  'connections sent to the standby for 3 s': async ({ balancer, primary, standby }) => {
      const before = await balancer.connectionsTo(standby.name);
      await balancer.mistake(standby.name);
      await balancer.fence(primary.name);
      await pause(MISTAKEN_MS);
      await balancer.check(standby.name);
      await balancer.readmit(primary.name);
      await balancer.sees(standby.name, false);
      const got = (await balancer.connectionsTo(standby.name)) - before;
      if (got === 0) throw new Error('No connection was sent to the standby');
      return `${got} connections were`;
  },
  'COMMITs that no standby confirms, then kill -9': async (pair, loads) => {
      await pair.standby.stop('immediate');
      await pause(UNCONFIRMED_MS);
      const unknown = loads.reduce((sum, load) => sum + load.count(UNKNOWN_OUTCOME), 0);
      const stored = await rowsIn(pair);
      pair.primary.kill();
      await pair.standby.start();
      await pair.failOver();
      const lost = stored - (await rowsIn(pair));
      if (lost <= 0) throw new Error('Everything stored on the killed node was on the standby, too');
      return `${unknown} responses of unknown outcome; ${lost} orders and users were stored on the killed node only`;
  },
};

/** @param {Pair} pair */
async function rowsIn({ primary }) {
  const [row] = await primary.query('SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM users) AS rows');
  return Number(row?.['rows']);
}
