/**
 * Every statement that the service has executed during measure.mjs, by the size of the database: `node
 * bench/growth/statements.mjs [--sizes ...]`. Prints the mean time, the pages and the plan of each, and exits with 1 if
 * one of them reads a whole table that grows.
 */
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { table } from '../shared/table.mjs';
import { urlOf } from './databases.mjs';
import { SIZES } from './sizes.mjs';

const { values: options } = parseArgs({ options: { sizes: { type: 'string', default: SIZES.join(',') } } });
const sizes = options.sizes.split(',').map(Number);
/** Below that, PostgreSQL reads a table as a whole because it is faster. */
const SMALL_ROWS = 10_000;

/** @type {Map<string, Map<number, { ms: number, blocks: number, plan: string, scans: string[] }>>} */
const statements = new Map();
for (const orders of sizes) {
  const client = new Client({ connectionString: urlOf(orders) });
  await client.connect();
  try {
    for (const row of await executed(client)) {
      const bySize = statements.get(row.query) ?? new Map();
      bySize.set(orders, { ...row, ...(await planOf(client, row.query)) });
      statements.set(row.query, bySize);
    }
  } finally {
    await client.end();
  }
}

const scans = [];
for (const [query, bySize] of statements) {
  console.log(`\n${query.replaceAll(/\s+/g, ' ')}\n`);
  const rows = [...bySize].map(([orders, { calls, ms, blocks, plan, scanned }]) => {
    scans.push(...scanned);
    return [`${orders.toLocaleString('en')} orders`, String(calls), ms.toFixed(3), blocks.toFixed(1), plan];
  });
  console.log(table(['', 'calls', 'ms', 'pages', 'plan'], rows));
}
console.log(`\n${statements.size} statements, ${scans.length} scans of a table with more than ${SMALL_ROWS} rows`);
process.exitCode = scans.length > 0 ? 1 : 0;

/** The service's own: those with parameters, and not of the programs in this folder. */
async function executed(client) {
  const { rows } = await client.query(
    `SELECT query, CAST(calls AS integer) AS calls, mean_exec_time AS ms, (shared_blks_hit + shared_blks_read) / calls::float8 AS blocks
     FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND query ~* '^\\s*(select|insert|update|delete|with)\\y.* (from|into|set) ' AND query !~ 'pg_|generate_series|migration|unnest|gen_random|count\\('
     ORDER BY query`,
  );
  return rows;
}

/** Of the plan for all values: the service's statements are prepared. */
async function planOf(client, query) {
  const count = Math.max(0, ...[...query.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  await client.query('SET plan_cache_mode = force_generic_plan');
  await client.query(`PREPARE asked AS ${query}`);
  const values = count > 0 ? `(${Array.from({ length: count }, () => 'NULL').join(', ')})` : '';
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE asked${values}`);
  const tables = await client.query('SELECT relname FROM pg_class WHERE reltuples > $1', [SMALL_ROWS]);
  await client.query('DEALLOCATE asked');
  const large = new Set(tables.rows.map(({ relname }) => relname));
  const accesses = rows[0]['QUERY PLAN'].flatMap(({ Plan }) => accessesIn(Plan));
  return {
    plan: [...new Set(accesses.map(({ type, index, relation }) => `${type} ${index ?? relation}`))].join(', '),
    scanned: accesses.filter(({ type, relation }) => type === 'Seq Scan' && large.has(relation)),
  };
}

/** How a plan reaches the rows of its tables. */
function accessesIn({ 'Node Type': type, 'Relation Name': relation, 'Index Name': index, Plans: inner = [] }) {
  const own = type.endsWith('Scan') && (relation ?? index) ? [{ type, relation, index }] : [];
  return [...own, ...inner.flatMap(accessesIn)];
}
