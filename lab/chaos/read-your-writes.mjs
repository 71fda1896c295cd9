/**
 * Clients write on one instance and read on another, while a PostgreSQL standby replays behind its primary: `[--reads 4000] [--clients 4]
 * [--lag 20]`. One instance is on Express and one on Fastify; `--lag` is a delay in ms that the standby adds to its own. No client may miss
 * its own write; without the cookie some do, which shows that the test can fail.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { requestText } from '@ambit/test-kit';
import { Client } from '../kit/http.mjs';
import { readOptions } from '../kit/options.mjs';
import { PostgresNode } from '../kit/postgres.mjs';
import { temporaryFolder } from '../kit/program.mjs';
import { report, table } from '../kit/report.mjs';
import { startServer, stopServer } from '../kit/service.mjs';

const READS_PER_WRITE = 4;
/** The share of the reads that goes to the modes that are only there for comparison. */
const COMPARED = 0.2;
const USER = { name: 'Ada', email: 'ada@example.org' };
/** @typedef {{ reads: number, missed: number, fromReplica: number, odd: string[] }} Tally */

const { reads, clients, lag } = readOptions({ reads: 4000, clients: 4, lag: 20 });
const primary = await PostgresNode.create(temporaryFolder());
const standby = await primary.follower(temporaryFolder(), { recovery_min_apply_delay: `${lag}ms` });
const env = { DATABASE_URL: primary.url, DATABASE_READ_URL: standby.url, DATABASE_READ_FROM: 'replica' };
const servers = await Promise.all([startServer('express', env), startServer('fastify', env)]);
const withCookie = await visit(true, reads);
const without = await visit(false, reads * COMPARED);
for (const server of servers) await stopServer(server);
for (const node of [standby, primary]) await node.stop();

const violations = [...withCookie.odd, ...without.odd].slice(0, 5);
if (withCookie.missed > 0) violations.push(`${withCookie.missed} reads missed the write of their own client`);
if (withCookie.fromReplica === 0) violations.push('No read came from the standby, so nothing was tried');
if (without.missed === 0) violations.push('Without the cookie no read missed a write, so nothing was tried');
report(
  table(
    ['', 'reads', 'own write missed', 'from the replica'],
    Object.entries({ 'with the cookie': withCookie, 'without the cookie': without }).map(
      ([title, { reads: count, missed, fromReplica }]) => [title, count, missed, fromReplica],
    ),
  ),
  violations,
);

/**
 * Each client writes on one instance and reads its write on both in turn, then writes on the other.
 * @param {boolean} keepsCookie
 * @param {number} count of reads
 */
async function visit(keepsCookie, count) {
  /** @type {Tally} */
  const tally = { reads: 0, missed: 0, fromReplica: 0, odd: [] };
  let left = count / READS_PER_WRITE;
  await Promise.all(
    Array.from({ length: clients }, async (_, number) => {
      const connections = servers.map(({ url }) => new Client(() => url));
      for (let turn = number; left-- > 0; turn += 1) {
        const at = (/** @type {number} */ step) => connections[(turn + step) % connections.length];
        const created = await at(0)?.send(requestText({ method: 'POST', path: '/api/users', body: USER }));
        if (created?.status !== 201) {
          tally.odd.push(`A write got ${created?.status ?? 'no response'}: ${created?.text}`);
          continue;
        }
        const cookie = created.headers['set-cookie']?.split(';')[0];
        const headers = keepsCookie && cookie !== undefined ? { Cookie: cookie } : {};
        const read = requestText({ path: `/api/users/${JSON.parse(created.text).id}`, headers });
        for (let step = 1; step <= READS_PER_WRITE; step += 1) {
          // The last one comes later, when the standby may have the write.
          if (step === READS_PER_WRITE) await pause(2 * lag);
          note(tally, await at(step)?.send(read));
        }
      }
      for (const connection of connections) connection.close();
    }),
  );
  return tally;
}

/**
 * @param {Tally} tally
 * @param {import('@ambit/test-kit').RawResponse | undefined} response
 */
function note(tally, response) {
  tally.reads += 1;
  if (response?.headers['cache-status']) tally.fromReplica += 1;
  if (response?.status === 404) tally.missed += 1;
  else if (response?.status !== 200)
    tally.odd.push(`A read got ${response?.status ?? 'no response'}: ${response?.text}`);
}
