import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { idempotencySchema } from '@ambit/idempotency';
import { outboxSchema } from '@ambit/outbox';
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
  /** The table of a package, whose script may change its spelling. */
  readonly isOfPackage?: true;
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

  async function apply(connection: Queryable, { name, script, checksum, isOfPackage }: Migration): Promise<void> {
    const [applied] = await connection.query<{ checksum: string }>('SELECT checksum FROM migrations WHERE name = $1', [
      name,
    ]);
    if (applied && applied.checksum !== checksum && !isOfPackage) {
      throw new Error(
        `The migration ${name} was changed after this database had run it. Undo the change, and add a new migration.`,
      );
    }
    if (applied) return;
    for (const statement of splitStatements(script)) await connection.query(statement);
    await connection.query('INSERT INTO migrations (name, checksum) VALUES ($1, $2)', [name, checksum]);
  }
}

/** Files that end in `.mariadb.sql` are for MariaDB, the others for PostgreSQL and SQLite. */
function readMigrations(dialect: ISqlDialect['name']): Migration[] {
  const own = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.mariadb.sql') === (dialect === 'mariadb'))
    .map((name) => {
      const script = readFileSync(new URL(name, FOLDER), 'utf8');
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') };
    });
  const ofPackage = (name: string, schema: string): Migration => {
    // On MariaDB each statement can be repeated, as after a crash.
    const script =
      dialect === 'mariadb' ? schema.replace(/^CREATE TABLE (?!IF)/m, 'CREATE TABLE IF NOT EXISTS ') : schema;
    return { name, script, checksum: 'of the package', isOfPackage: true };
  };
  return [
    ...own,
    ofPackage(`0002-idempotency-keys${dialect === 'mariadb' ? '.mariadb' : ''}.sql`, idempotencySchema({ dialect })),
    ofPackage(`0003-outbox.${dialect}.sql`, outboxSchema({ dialect })),
  ].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** It is tried each second. */
const LOG_EVERY_MS = 10_000;

/** Applies the migrations, and waits for a database that is not available yet. */
export async function prepareDatabase(
  pool: IDatabasePool,
  engine: IEngine,
  { startTimeoutMs }: Pick<Config, 'startTimeoutMs'>,
  logger?: Pick<ILogger, 'warn'>,
): Promise<void> {
  let loggedAt = -Infinity;
  const onRetry: OnRetry = (error) => {
    if (Date.now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = Date.now();
    const { place, advice: fix } = engine;
    logger?.warn({ msg: 'the database cannot be used yet', why: reasonOf(error), place, fix });
  };
  const migrationPool = engine.createMigrationPool();
  try {
    await migrate(migrationPool ?? pool, engine, startTimeoutMs, onRetry);
  } catch (error) {
    throw explained(error, engine);
  } finally {
    await migrationPool?.close();
  }
}
