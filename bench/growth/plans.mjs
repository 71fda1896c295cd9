/** Below that, PostgreSQL reads a table as a whole because it is faster. */
export const SMALL_ROWS = 10_000;

/**
 * Every statement that the service has executed on a database of PostgreSQL, with its plan. Those of the outbox are missing: the words that
 * choose their indexes were made parameters here.
 *
 * @param {import('./engines/engines.mjs').Engine} engine
 * @param {string} name of the database
 * @returns {Promise<{ query: string, calls: number, ms: number, pages: number, plan: string, scanned: object[] }[]>}
 */
export async function plansOf(engine, name) {
  const run = (sql) => engine.run(name, sql);
  const executed = await run(
    `SELECT query, CAST(calls AS integer) AS calls, mean_exec_time AS ms, (shared_blks_hit + shared_blks_read) / calls::float8 AS pages
     FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND query ~* '^\\s*(select|insert|update|delete|with)\\y.* (from|into|set) '
       AND query !~ 'pg_(stat|prewarm|class)|generate_series|migration|PREPARE|(current_setting|extract)\\(\\$|outbox'
     ORDER BY query`,
  );
  const tables = await run(`SELECT relname FROM pg_class WHERE reltuples > ${SMALL_ROWS}`);
  const large = new Set(tables.map(({ relname }) => relname));
  // The plan for all values: the service's statements are prepared.
  await run('SET plan_cache_mode = force_generic_plan');
  const planned = [];
  for (const row of executed) {
    const count = Math.max(0, ...[...row.query.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
    await run(`PREPARE asked AS ${row.query}`);
    const values = count > 0 ? `(${Array.from({ length: count }, () => 'NULL').join(', ')})` : '';
    const [explained] = await run(`EXPLAIN (FORMAT JSON) EXECUTE asked${values}`);
    await run('DEALLOCATE asked');
    const accesses = explained['QUERY PLAN'].flatMap(({ Plan }) => accessesIn(Plan));
    planned.push({
      ...row,
      plan: [...new Set(accesses.map(({ type, index, relation }) => `${type} ${index ?? relation}`))].join(', '),
      scanned: accesses.filter(({ type, relation }) => type === 'Seq Scan' && large.has(relation)),
    });
  }
  return planned;
}

/** How a plan reaches the rows of its tables. */
function accessesIn({ 'Node Type': type, 'Relation Name': relation, 'Index Name': index, Plans: inner = [] }) {
  const own = type.endsWith('Scan') && (relation ?? index) ? [{ type, relation, index }] : [];
  return [...own, ...inner.flatMap(accessesIn)];
}
