import { setTimeout as pause } from 'node:timers/promises';
import { Container } from '@ambit/container';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import { runInTransaction, TransactionError } from '@ambit/transaction';
import { createPool } from 'mysql2/promise';
import { between } from '../kit/random.mjs';

const CLIENTS_OF_NODE = 12;
const ROWS = 12;
const AGAIN_AFTER_MS = 20;
/** The longer a node prepares a statement, the more often another node's transaction comes first meanwhile. */
const LIST = Array.from({ length: 1000 }, (_, number) => number).join(', ');

/**
 * Transactions on all nodes that change the same few rows, each of which ends with a SELECT that its session has never seen, until so many were
 * acknowledged.
 * @param {import('./galera-cluster.mjs').GaleraCluster} cluster
 * @param {number} count
 * @param {(what: string) => void} refute is called when the stored ones are not those that were acknowledged
 * @param {() => Promise<void>} [disturb] runs meanwhile, again and again
 * @returns {Promise<string>} what became of them
 */
export async function endWithSelects(cluster, count, refute, disturb = () => pause(AGAIN_AFTER_MS)) {
  await cluster.query('CREATE OR REPLACE TABLE marks (id varchar(40) PRIMARY KEY)');
  await cluster.query('CREATE OR REPLACE TABLE marked (id integer PRIMARY KEY, n integer NOT NULL)');
  for (let id = 0; id < ROWS; id++) await cluster.query(`INSERT INTO marked VALUES (${id}, 0)`);
  await cluster.repair();
  const ids = { acknowledged: new Set(), refused: new Set(), unknown: new Set() };
  const isDone = () => ids.acknowledged.size >= count;
  let serial = 0;
  const pools = cluster.nodes.map(({ url }) => {
    const driver = createPool({ uri: url, connectionLimit: CLIENTS_OF_NODE + 1, maxPreparedStatements: 100 });
    return fromMysql2Pool(driver, { max: CLIENTS_OF_NODE, queryTimeoutMs: 20_000 });
  });
  const clients = pools.flatMap((pool) =>
    Array.from({ length: CLIENTS_OF_NODE }, async () => {
      const app = new Container().register('IDatabasePool', () => pool);
      while (!isDone()) {
        const id = `mark-${++serial}`;
        /** @param {import('@ambit/container').IContainer} scope */
        const work = async (scope) => {
          /** @type {import('@ambit/transaction').IConnection} */
          const connection = scope.resolve('IConnection');
          await connection.query('INSERT INTO marks VALUES ($1)', [id]);
          await connection.query('UPDATE marked SET n = n + 1 WHERE id = $1', [between(0, ROWS - 1)]);
          await connection.query(`SELECT n AS n${++serial} FROM marked WHERE id = $1 AND id IN (${LIST})`, [1]);
        };
        try {
          await runInTransaction(app, work, { retries: 0, onError: () => {} });
          ids.acknowledged.add(id);
        } catch (error) {
          if (!(error instanceof TransactionError)) throw error;
          ids[error.code === 'AMBIT_TX_OUTCOME_UNKNOWN' ? 'unknown' : 'refused'].add(id);
          await pause(between(1, AGAIN_AFTER_MS));
        }
      }
    }),
  );
  const disturbing = (async () => {
    while (!isDone()) await disturb();
  })();
  await Promise.all([...clients, disturbing]);
  await cluster.repair();
  await Promise.all(pools.map((pool) => pool.close()));
  const stored = new Set((await cluster.query('SELECT id FROM marks')).map((row) => row['id']));
  const lost = [...ids.acknowledged].filter((id) => !stored.has(id));
  const kept = [...ids.refused].filter((id) => stored.has(id));
  if (lost.length > 0) refute(`${lost.length} acknowledged transactions are lost, such as ${lost[0]}`);
  if (kept.length > 0) refute(`${kept.length} refused transactions are stored, such as ${kept[0]}`);
  await cluster.query('DROP TABLE marks, marked');
  const { acknowledged, refused, unknown } = ids;
  return `${acknowledged.size} acknowledged, ${lost.length} of them lost; ${refused.size} refused, ${kept.length} of them stored; ${unknown.size} unknown`;
}
