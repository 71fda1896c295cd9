import type { IDatabasePool, IPooledConnection } from '../contract.js';
import { POSTGRES, tokensOf } from '../sql/lexer.js';
import { isPlain } from '../sql/control-statements.js';
import type { Recorder } from './recorder.js';
import { statementText } from './record.js';

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

const SAVEPOINT = 'ambit_plan';

/** Asks the database for the plan of each statement once, after it has succeeded, on its own connection. */
export class Plans {
  readonly #recorder: Recorder;
  readonly #asked = new Set<string>();

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  async take(connection: IPooledConnection, isOpen: boolean, statement: readonly [string, unknown?]): Promise<void> {
    const [sql, params = []] = statement;
    const text = statementText(sql);
    if (!isPlain(sql) || this.#asked.has(text)) return;
    this.#asked.add(text);
    // A failed EXPLAIN must not change what the application sees.
    const scans = connection.synchronous
      ? await scansOnSqlite(connection, sql, params as readonly unknown[]).catch(() => undefined)
      : await scansOnPostgres(connection, isOpen, sql).catch(() => undefined);
    if (scans) this.#recorder.plan(sql, scans);
  }

  async takeOn(pool: IDatabasePool, statement: readonly [string, unknown?]): Promise<void> {
    if (!isPlain(statement[0]) || this.#asked.has(statementText(statement[0]))) return;
    const connection = await pool.getConnection().catch(() => undefined);
    if (!connection) return;
    try {
      await this.take(connection, false, statement);
    } finally {
      connection.release();
    }
  }
}

/**
 * Reads the generic plan, because values differ from run to run, and with scans disabled: a table of a test is so small that PostgreSQL
 * reads all of it although there is an index.
 */
async function scansOnPostgres(connection: IPooledConnection, isOpen: boolean, sql: string): Promise<string[]> {
  const parameters = Array.from(tokensOf(sql, POSTGRES), ({ kind, text }) =>
    kind === 'parameter' ? Number(text.slice(1)) : 0,
  );
  const nulls = Array.from({ length: Math.max(0, ...parameters) }, () => 'NULL').join(', ');
  if (isOpen) await connection.query(`SAVEPOINT ${SAVEPOINT}`);
  else await connection.beginTransaction();
  let isPrepared = false;
  try {
    await connection.query('SET LOCAL plan_cache_mode = force_generic_plan');
    await connection.query('SET LOCAL enable_seqscan = off');
    await connection.query(`PREPARE ${SAVEPOINT} AS ${sql}`);
    isPrepared = true;
    const execute = `EXECUTE ${SAVEPOINT}${nulls && `(${nulls})`}`;
    const rows = await connection.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>(
      `EXPLAIN (FORMAT JSON) ${execute}`,
    );
    return [...new Set(rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => scansIn(Plan))))];
  } finally {
    if (isOpen) {
      await connection.query(`ROLLBACK TO SAVEPOINT ${SAVEPOINT}`);
      await connection.query(`RELEASE SAVEPOINT ${SAVEPOINT}`);
    } else await connection.rollback();
    if (isPrepared) await connection.query(`DEALLOCATE ${SAVEPOINT}`);
  }
}

/** An index that is read without a condition is read as a whole, too. */
function scansIn({
  'Node Type': type,
  'Relation Name': table,
  'Index Cond': condition,
  Plans: inner = [],
}: Plan): string[] {
  const isScan = type === 'Seq Scan' || (/^Index (?:Only )?Scan/.test(type) && condition === undefined);
  return [...(isScan && table !== undefined ? [table] : []), ...inner.flatMap(scansIn)];
}

async function scansOnSqlite(
  connection: IPooledConnection,
  sql: string,
  params: readonly unknown[],
): Promise<string[]> {
  const rows = await connection.query<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params);
  const aliases = rows.flatMap(({ detail }) => {
    const [, scanned, searched] =
      /^SCAN (?!.*CONSTANT ROW)(\w+)(?!.* VIRTUAL TABLE)|^SEARCH (\w+) USING AUTOMATIC /.exec(detail) ?? [];
    return scanned ?? searched ?? [];
  });
  // SQLite names a table by its alias.
  const tables = aliases.map((alias) => new RegExp(`\\b(\\w+)"? (?:as )?"?${alias}\\b"?`, 'i').exec(sql)?.[1] ?? alias);
  return [
    ...new Set(tables.map((table, i) => (/^(?:from|join|update|into)$/i.test(table) ? (aliases[i] ?? table) : table))),
  ];
}
