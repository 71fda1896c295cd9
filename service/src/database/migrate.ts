import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { type IDatabasePool, splitStatements, sqlStateOf } from '@ambit/transaction';
import { runOnPool } from '@ambit/transaction/extension';
import type { IEngine, ISqlDialect, Queryable } from './engine.js';
import { explained, type OnRetry, reasonOf, whenAvailable } from './unusable.js';
import type { Config } from '../config/config.js';
import type { ILogger } from '../logging/logger.js';
import { ExplainedError } from '../problem.js';

/** The path is the same from `dist/database` and from `src/database`. */
const FOLDER = new URL('../../src/database/migrations/', import.meta.url);

interface Migration {
  readonly name: string;
  readonly script: string;
  readonly checksum: string;
}

/** When two programs create a table at the same time, the database refuses one of them, which then finds the table. */
const CREATED_MEANWHILE = new Set(['23505', '40001', '42710', '42P07']);

/**
 * Applies the migrations that the database has not had yet; safe to run in several processes at once. The lock is a row,
 * not an advisory lock, so that it also works behind a pooler and on engines that only speak PostgreSQL's protocol.
 */
export async function migrate(
  pool: IDatabasePool,
  { dialect: { name: dialect, forUpdate }, migrations }: Pick<IEngine, 'dialect' | 'migrations'>,
  waitMs = 0,
  onRetry: OnRetry = () => undefined,
): Promise<void> {
  await whenAvailable(() => runAgain(readMigrations(dialect).length), waitMs, onRetry);

  /** On a node of a Galera cluster the lock holds on that node alone: an instance on another one may be ahead by each migration. */
  async function runAgain(times: number): Promise<void> {
    try {
      // A process that waited for the lock must see what was committed meanwhile, whatever the role's default is.
      await runOnPool(pool, run, { isolation: 'read committed' });
    } catch (error) {
      if (times === 0 || !CREATED_MEANWHILE.has(sqlStateOf(error) ?? '')) throw error;
      await runAgain(times - 1);
    }
  }

  /** One transaction, so that nothing is left in the database of another program, where a table of the same name exists. */
  async function run(connection: Queryable): Promise<void> {
    // Where a new table completes the transaction it must not be the one that holds the lock.
    const on = migrations.areTransactional ? connection : pool;
    await refuseForeign(on);
    for (const statement of migrations.begin) await on.query(statement);
    await connection.query(`SELECT id FROM migration_lock ORDER BY id ${forUpdate}`);
    for (const migration of readMigrations(dialect)) await apply(on, migration);
  }

  /** The table `migrations` is created before all others, so it is there if another instance has created one meanwhile. */
  async function refuseForeign(connection: Queryable): Promise<void> {
    if (!migrations.findTables) return;
    const tables = (await connection.query<{ name: string }>(migrations.findTables)).map(({ name }) => name);
    if (tables.includes('migrations')) await connection.query('SELECT checksum FROM migrations LIMIT 1');
    else if (tables.length > 0)
      throw new ExplainedError(
        `The database of DATABASE_URL has tables of another program: ${tables.join(', ')}. Let DATABASE_URL name one for the service alone.`,
        1,
      );
  }

  async function apply(connection: Queryable, { name, script, checksum }: Migration): Promise<void> {
    const [applied] = await connection.query<{ checksum: string }>('SELECT checksum FROM migrations WHERE name = $1', [
      name,
    ]);
    if (applied && applied.checksum !== checksum) {
      throw new Error(
        `The migration ${name} was changed after this database had run it. Undo the change, and add a new migration.`,
      );
    }
    if (applied) return;
    for (const statement of splitStatements(script)) await connection.query(statement);
    await connection.query('INSERT INTO migrations (name, checksum) VALUES ($1, $2)', [name, checksum]);
  }
}

/** `0003-outbox.sqlite.sql` is for SQLite only, a name without a database is for PostgreSQL and SQLite. */
const MIGRATION = /^[^.]+(?:\.(postgres|sqlite|mariadb))?\.sql$/;

function readMigrations(dialect: ISqlDialect['name']): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => {
      const [match, only] = MIGRATION.exec(file) ?? [];
      return match !== undefined && (only === undefined ? dialect !== 'mariadb' : only === dialect);
    })
    .toSorted()
    .map((name) => {
      const script = readFileSync(new URL(name, FOLDER), 'utf8');
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') };
    });
}

/** Applies the migrations, and waits for a database that is not available yet. */
export async function prepareDatabase(
  pool: IDatabasePool,
  engine: IEngine,
  { startTimeoutMs }: Pick<Config, 'startTimeoutMs'>,
  logger?: Pick<ILogger, 'warn'>,
): Promise<void> {
  const onRetry: OnRetry = (error, nextTryInMs) =>
    logger?.warn({
      msg: 'the database cannot be used yet',
      why: reasonOf(error),
      place: engine.place,
      nextTryInMs,
    });
  const migrationPool = engine.createMigrationPool();
  try {
    await migrate(migrationPool ?? pool, engine, startTimeoutMs, onRetry);
  } catch (error) {
    throw explained(error, engine);
  } finally {
    await migrationPool?.close();
  }
}
