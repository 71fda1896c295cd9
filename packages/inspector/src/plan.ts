import type { IDatabasePool, IPooledConnection } from '@ambit/transaction';

/** Everything else EXPLAIN might run, or not know. */
const EXPLAINABLE = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i;
/** MariaDB refuses to explain a write in a transaction that only reads. */
const READS = /^\s*SELECT\b/i;
const WAIT_MS = 2000;

/** True if the plan of this statement can be asked for. */
export const hasPlan = (sql: string): boolean => EXPLAINABLE.test(sql);

/**
 * The plan that the database would choose for a statement, which is not run: by plain EXPLAIN, in a transaction that is
 * rolled back, on a connection that is closed then.
 *
 * @param sql - one statement; the plan is that for any values of `$1 ... $n`, on MariaDB that for the text '1'
 * @returns its lines, without values
 * @throws what the database throws
 */
export async function planOf(pool: IDatabasePool, sql: string): Promise<string[]> {
  const connection = await pool.getConnection({ timeoutMs: WAIT_MS });
  try {
    await connection.beginTransaction({ readOnly: READS.test(sql) });
    const lines = await planOn(connection, sql);
    if (lines.length === 0) return ['The database has nothing to plan for it.'];
    return [...(await adviceOf(connection, lines)), ...lines.map(withoutValues)];
  } finally {
    await connection.rollback().catch(() => undefined);
    connection.release(true);
  }
}

async function planOn(connection: IPooledConnection, sql: string): Promise<string[]> {
  const parameters = Math.max(0, ...Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => Number(number)));
  const all = (value: string): string[] => Array.from({ length: parameters }, () => value);
  // SQLite has no such function.
  const [row] = await connection.query<{ v?: string }>('SELECT version() AS v').catch(() => []);
  const version = row?.v ?? 'SQLite';
  if (version.startsWith('PostgreSQL')) {
    await connection.query('SET LOCAL plan_cache_mode = force_generic_plan');
    await connection.query(`PREPARE ambit_inspector AS ${sql}`);
    const values = parameters > 0 ? `(${all('NULL').join(', ')})` : '';
    const rows = await connection.query<Record<string, string>>(`EXPLAIN EXECUTE ambit_inspector${values}`);
    return rows.map((one) => String(one['QUERY PLAN']));
  }
  if (version === 'SQLite') {
    const rows = await connection.query<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, all('1'));
    return rows.map(({ detail }) => detail);
  }
  const rows = await connection.query(`EXPLAIN ${sql}`, all('1'));
  return rows.map((one) =>
    Object.entries(one)
      .filter(([name, value]) => name !== 'id' && value !== null)
      .map(([name, value]) => `${name}: ${String(value)}`)
      .join(', '),
  );
}

const MANY = 1000;
const SCAN = /Seq Scan on (\S+) .*rows=(\d+).*\n +Filter: (.*)/g;

/** PostgreSQL says how many rows a scan keeps, and by which columns; how many it reads, a scan of the whole table says. */
async function adviceOf(connection: IPooledConnection, lines: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const [, table, kept, filter = ''] of lines.join('\n').matchAll(SCAN)) {
    const [whole] = await connection.query<Record<string, string>>(`EXPLAIN SELECT FROM ${table}`).catch(() => []);
    const all = Number(/rows=(\d+)/.exec(whole?.['QUERY PLAN'] ?? '')?.[1]);
    if (!(all >= MANY && Number(kept) <= all / 10)) continue;
    // An index has the columns that are equal to something, and behind them one of a range.
    const columns = [...comparedBy('=', filter), ...comparedBy('[<>]=?', filter).slice(0, 1)];
    const names = / OR |SubPlan/.test(filter) ? [] : columns;
    const index = names.length === 0 ? '' : `: an index on (${names.join(', ')}) would find them`;
    found.push(`Reads ${all.toLocaleString('en')} rows of ${table} to keep about ${kept}${index}.`);
  }
  return found;
}

/** The columns that are compared with a value, but not in a function: `((v.name)::text = $1)`. */
function comparedBy(operator: string, filter: string): string[] {
  const column = String.raw`(?<!\w)\((?:\w+\.)?("[^"]+"|\w+)\)?(?:::[\w ]+)? `;
  return Array.from(filter.matchAll(new RegExp(`${column}${operator} (?:[$'(\\d]|ANY)`, 'g')), ([, name = '']) => name);
}

/** Costs stay, which no condition has. */
function withoutValues(line: string): string {
  const text = line.replaceAll(/'(?:[^']|'')*'/g, "'…'");
  return /\(cost=|rows: /.test(text) ? text : text.replaceAll(/(?<![\w$.])\d+(?:\.\d+)?/g, '?');
}
