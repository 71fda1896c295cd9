import { createOutbox } from '@ambit/outbox';
import type { DatabasePool, IDatabasePool } from '@ambit/transaction';
import { type Config, ConfigError, readConfig } from './config/config.js';
import type { IEngine, ISqlDialect } from './database/engine.js';
import { engineOf } from './database/engines.js';
import { prepareDatabase } from './database/migrate.js';
import { explained, isAbsence, whenAvailable } from './database/unusable.js';
import { ExplainedError } from './problem.js';

type Lines = Promise<readonly string[]>;
type Work = (pool: DatabasePool, engine: IEngine) => Lines;

/** No other user of the machine may read what this process writes: the database and its backups have personal data. */
export function keepFilesPrivate(): void {
  const OTHERS = 0o007;
  process.umask(process.umask(OTHERS) | OTHERS);
}

/** Prints an explained error, and sets its exit code. Any other is thrown: its stack tells a developer more. */
export function explainFailure(error: unknown): void {
  if (!(error instanceof ExplainedError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}

/** Runs the program that this process was started as, and prints the lines that it resolves to. */
export function runCommand(name: keyof typeof COMMANDS): void {
  keepFilesPrivate();
  const run = async (): Promise<void> => {
    const lines = await COMMANDS[name](process.argv.slice(2))(readConfig(process.env));
    process.stdout.write(`${lines.join('\n')}\n`);
  };
  run().catch(explainFailure);
}

/** By name: what a program does with its arguments. It refuses wrong ones before it reads the configuration. */
const COMMANDS = {
  stock: (args) => {
    const work = readStock(args);
    return (config) => onDatabase(config, (pool, { dialect }) => work(pool, dialect));
  },
  events: ([command, ...ids]) => {
    if (command === 'list' && ids.length === 0) return (config) => onDatabase(config, listEvents);
    if (command === 'retry' && ids.length > 0) return (config) => onDatabase(config, retryEvents(ids));
    throw usage(
      `npm run events -- list                shows the events that could not be delivered
npm run events -- retry <id> ...      sends these again, or all of them: npm run events -- retry all`,
    );
  },
  checkDatabase: (args) => {
    if (args.length > 0)
      throw usage('npm run check-database   reads every page of the embedded database, and says what is damaged');
    return check;
  },
} satisfies Record<string, (args: readonly string[]) => (config: Config) => Lines>;

const usage = (text: string): ExplainedError => new ExplainedError(text, 64);

/** Runs on the database of a service, which may be in use. */
async function onDatabase(config: Config, work: Work): Lines {
  const engine = engineOf(config.database);
  if (engine.isInMemory)
    throw new ConfigError(['DATA_DIR=:memory: is a separate database in each process: name the one of the service']);
  const missing = (cause?: unknown): ExplainedError =>
    new ExplainedError(`There are no tables of the service: ${engine.place}. Start the service once.`, 1, { cause });
  // SQLite would create the file.
  if (!engine.exists()) throw missing();
  await using pool = engine.createPool();
  const findTables = async (): Promise<void> =>
    void (await pool.query('SELECT name, checksum FROM migrations LIMIT 1'));
  await whenAvailable(findTables, config.startTimeoutMs, () => undefined).catch((error: unknown) => {
    throw isAbsence(error) ? missing(error) : explained(error, engine);
  });
  await prepareDatabase(pool, engine, config);
  return await work(pool, engine);
}

const MAX_LEVEL = 1_000_000_000;

/** The stock command, which is safe while the service runs. It throws an ExplainedError for wrong arguments. */
export function readStock([command, productId = '', text, ...rest]: readonly string[]): (
  pool: Pick<IDatabasePool, 'query'>,
  dialect: ISqlDialect,
) => Lines {
  const isProduct = /^\P{Cc}{1,200}$/u.test(productId) && rest.length === 0;
  const level = /^\d+$/.test(text ?? '') ? Number(text) : NaN;
  if (command === 'list' && productId === '') return listStock;
  if (command === 'set' && isProduct && level <= MAX_LEVEL)
    return async (pool, { orReplace }) => {
      const sql = `INSERT INTO stock (product_id, level) VALUES ($1, $2) ${orReplace('product_id', 'level')}`;
      await pool.query(sql, [productId, level]);
      return [`${productId}\t${level}`];
    };
  if (command === 'untrack' && isProduct && text === undefined)
    return async (pool) => {
      const sql = 'DELETE FROM stock WHERE product_id = $1 RETURNING product_id';
      const { length } = await pool.query(sql, [productId]);
      return [`${productId} ${length > 0 ? 'is no longer tracked' : 'was not tracked'}`];
    };
  throw usage(
    `npm run stock -- list                      shows every product with a stock level
npm run stock -- set <productId> <level>   sets the stock level of a product, from 0 to ${MAX_LEVEL}
npm run stock -- untrack <productId>       forgets the level: the product can be ordered freely
A product id has 1 to 200 characters, and no tabs or line breaks.`,
  );
}

async function listStock(pool: Pick<IDatabasePool, 'query'>): Lines {
  const rows = await pool.query<{ product_id: string; level: number }>(
    'SELECT product_id, level FROM stock ORDER BY product_id',
  );
  if (rows.length === 0) return ['No product has a stock level: all can be ordered freely.'];
  return rows.map(({ product_id, level }) => `${product_id}\t${level}`);
}

const listEvents: Work = async (pool, { dialect: { name: dialect } }) => {
  const letters = await createOutbox(pool, { dialect }).deadLetters({ limit: 1000 });
  if (letters.length === 0) return ['No event has failed for good.'];
  return letters.map(({ id, topic, key = '', attempt, diedAt, lastError }) =>
    [id, topic, key, `${attempt} attempts`, diedAt.toISOString(), lastError.replaceAll(/\s+/g, ' ')].join('\t'),
  );
};

const retryEvents =
  (ids: readonly string[]): Work =>
  async (pool, { dialect: { name: dialect } }) => {
    const count = await createOutbox(pool, { dialect }).retry(ids.join() === 'all' ? 'all' : ids);
    return [`Events that are sent again: ${count}`];
  };

async function check(config: Config): Lines {
  if (config.database.kind !== 'sqlite')
    throw new ConfigError(['DATABASE_URL leads to a server: use amcheck of PostgreSQL, CHECK TABLE of MariaDB']);
  return onDatabase(config, async (pool, engine) => {
    const rows = await pool.query('PRAGMA quick_check').catch((error: unknown) => {
      throw explained(error, engine);
    });
    const found = rows.flatMap((row) => Object.values(row)).map(String);
    if (found.join() !== 'ok') throw new ExplainedError([...found, 'Restore a backup.'].join('\n'), 1);
    return ['No damage was found.'];
  });
}
