import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { DatabasePool } from '@ambit/transaction';
import { fromMysql2Pool, type Mysql2Pool } from '@ambit/drivers/mysql2';
import type * as Mysql2 from 'mysql2/promise';
import type { MariadbConfig } from '../../config/config.js';
import type { MariadbServer } from '../../config/database-url.js';
import { ExplainedError } from '../../problem.js';
import {
  CLOSE_TIMEOUT_MS,
  type IEngine,
  type ISqlDialect,
  type JsonColumns,
  MIGRATION_STATEMENT_MS,
  type MigrationRules,
  type Queryable,
  SERVER,
} from '../engine.js';
import { explainServer, FOREIGN_DATABASE, reasonOf } from '../unusable.js';

/** The texts of our tables: `'a'`, `'A'` and `'a '` are different keys, in the order of their characters' numbers. */
const COLLATION = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin';
const JSON_TYPES: Readonly<Record<JsonColumns[string], string>> = {
  text: `varchar(255) ${COLLATION}`,
  integer: 'integer',
};

/** InnoDB locks the rows in the sequence in which it reads them, whatever ORDER BY says. */
export const mariadbDialect: ISqlDialect = {
  name: 'mariadb',
  text: (parameter) => parameter,
  rows: (parameter, columns) => {
    const paths = Object.entries(columns).map(([name, type]) => `${name} ${JSON_TYPES[type]} PATH '$.${name}'`);
    return `JSON_TABLE(${parameter}, '$[*]' COLUMNS (${paths.join(', ')}))`;
  },
  lookUp: (table) => `STRAIGHT_JOIN ${table} FORCE INDEX (PRIMARY)`,
  updateFrom: ({ table, set, from, where }) =>
    `UPDATE ${from} STRAIGHT_JOIN ${table} FORCE INDEX (PRIMARY) ON ${where} SET ${set}`,
  orReplace: (_key, column) => `ON DUPLICATE KEY UPDATE ${column} = VALUES(${column})`,
  forUpdate: 'FOR UPDATE',
  writesInWith: false,
};

const mariadbMigrations: MigrationRules = {
  areTransactional: false,
  begin: [
    `CREATE TABLE IF NOT EXISTS migrations (name varchar(200) PRIMARY KEY, checksum mediumtext NOT NULL) ENGINE = InnoDB ${COLLATION}`,
    'CREATE TABLE IF NOT EXISTS migration_lock (id integer PRIMARY KEY) ENGINE = InnoDB',
    // Not INSERT IGNORE, which would wait for the instance that has the lock.
    'INSERT INTO migration_lock (id) SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT id FROM migration_lock)',
  ],
  refuseForeign,
};

const TABLE_EXISTS = 1050;
const NO_SUCH_TABLE = 1146;
const UNKNOWN_SETTING = 1193;

/** The table `migrations` is created before all others, so it is there if another instance has created one meanwhile. */
async function refuseForeign(pool: Queryable, scripts: readonly string[]): Promise<void> {
  const names = scripts.flatMap((script) =>
    Array.from(script.matchAll(/^CREATE TABLE IF NOT EXISTS (\w+)/gm), ([, name]) => name),
  );
  const [foreign] = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
     WHERE table_schema = DATABASE() AND table_name IN (${names.map((name) => `'${name}'`).join(', ')})`,
  );
  try {
    await pool.query('SELECT checksum FROM migrations LIMIT 1');
  } catch (error) {
    if (numberOf(error) !== NO_SUCH_TABLE) throw error;
    if (foreign) throw Object.assign(new Error(`Table "${foreign.name}" already exists`), { errno: TABLE_EXISTS });
  }
}

const FOREIGN = `${FOREIGN_DATABASE} DATABASE_URL name a database that only the service uses`;
const RIGHTS = 'Give the user of DATABASE_URL all rights on its database: GRANT ALL ON <database>.* TO <user>';
const NEWER = 'The service needs MariaDB 10.11 or newer: MySQL and older servers lack what it uses';
/** By the number of the server's error: its SQLSTATE says less. */
const ADVICE: Readonly<Record<number, string>> = {
  1040: 'Let max_connections of the server be more than DATABASE_POOL_SIZE of all instances together',
  1044: RIGHTS,
  1045: 'Correct the user and the password in DATABASE_URL',
  1049: 'Create the database, or correct its name in DATABASE_URL',
  1050: FOREIGN,
  1054: FOREIGN,
  1130: 'Allow the user of DATABASE_URL to connect from this machine: CREATE USER <user>@<address>',
  1142: RIGHTS,
  1143: RIGHTS,
  [UNKNOWN_SETTING]: NEWER,
  1226: 'Let max_user_connections, and other limits of the user, be more than DATABASE_POOL_SIZE of all instances together needs',
  1203: 'Let max_user_connections be more than DATABASE_POOL_SIZE of all instances together',
  1227: RIGHTS,
  1273: NEWER,
  1290: 'Let DATABASE_URL lead to the primary, or look at read_only of the server',
  1665: 'Let binlog_format of the server be ROW or MIXED: the service reads what is committed',
  1698: 'Correct the user and the password in DATABASE_URL',
  1836: 'Let DATABASE_URL lead to the primary, or look at innodb_read_only of the server',
};
/** A missing table or column. */
const ABSENT: ReadonlySet<number | undefined> = new Set([1054, 1146]);

/** How long the server may take to stop a statement by itself; then its connection is closed. */
const STOP_MS = 1000;

export const mariadbEngine = (config: MariadbConfig): IEngine => ({
  ...SERVER,
  dialect: mariadbDialect,
  migrations: mariadbMigrations,
  createPool: () => createPool(config),
  // One connection holds the lock, the other creates the tables: that would complete the transaction of the lock.
  createMigrationPool: () => createPool({ ...config, poolSize: 2, queryTimeoutMs: MIGRATION_STATEMENT_MS }),
  explain: (error) => {
    const server = { name: 'MariaDB', tls: 'ssl-mode, ssl-ca, ssl-cert and ssl-key' };
    return explainServer(error, server, numberOf(error) ?? '', ADVICE);
  },
  isAbsence: (error) => ABSENT.has(numberOf(error)),
});

function createPool({ server, poolSize, acquireTimeoutMs, queryTimeoutMs }: MariadbConfig): DatabasePool {
  const { host, port, user, password, database } = server;
  // Loaded where it is used: the others do without it.
  const { createPool: createDriver } = createRequire(import.meta.url)('mysql2/promise') as typeof Mysql2;
  const driver = createDriver({
    host,
    port,
    user,
    password,
    database,
    ...sslOf(server),
    connectTimeout: acquireTimeoutMs,
    // One more, to stop the statement of another.
    connectionLimit: poolSize + 1,
    maxIdle: poolSize,
    connectAttributes: { program_name: 'ambit-service' },
  });
  return fromMysql2Pool(withSettings(driver, queryTimeoutMs), {
    max: poolSize,
    acquireTimeoutMs,
    queryTimeoutMs: queryTimeoutMs + STOP_MS,
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
  });
}

/** Sets what the service needs at the first use of each connection. A server that refuses it refuses the connection, with its reason. */
function withSettings(driver: Mysql2.Pool, queryTimeoutMs: number): Mysql2Pool {
  const settings = [
    // The locks of the others would include the gaps between the rows, in which new orders are stored.
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'," +
      ` max_statement_time = ${queryTimeoutMs / 1000}, innodb_lock_wait_timeout = ${Math.ceil(queryTimeoutMs / 1000)}`,
  ];
  const ready = new WeakSet<object>();
  return {
    getConnection: async () => {
      const connection = await driver.getConnection();
      if (ready.has(connection.connection)) return connection;
      try {
        await Promise.all(settings.map((sql) => connection.query(sql)));
      } catch (error) {
        connection.destroy();
        // A setting that the server does not know is nothing to wait for; its SQLSTATE is one for all that has none.
        throw numberOf(error) === UNKNOWN_SETTING ? Object.assign(error as Error, { sqlState: '42704' }) : error;
      }
      ready.add(connection.connection);
      return connection;
    },
    end: () => driver.end(),
    on: (event, listener) => driver.on(event as 'acquire', listener),
  };
}

function sslOf({ sslMode, sslFiles }: MariadbServer): Pick<Mysql2.PoolOptions, 'ssl'> {
  if (sslMode === 'DISABLED') return {};
  try {
    const files = Object.entries(sslFiles).map(([name, file]) => [name, readFileSync(file)]);
    const verifyIdentity = sslMode === 'VERIFY_IDENTITY';
    return {
      ssl: {
        ...Object.fromEntries(files),
        rejectUnauthorized: verifyIdentity || sslMode === 'VERIFY_CA',
        verifyIdentity,
      },
    };
  } catch (cause) {
    const what = `MariaDB cannot be reached: ${reasonOf(cause)}`;
    throw new ExplainedError(`${what}. Correct ssl-ca, ssl-cert and ssl-key in DATABASE_URL.`, 1, { cause });
  }
}

/** The number of the server's error in the nearest cause that has one; those of the system are negative. */
function numberOf(error: unknown): number | undefined {
  for (let fault = error; fault instanceof Error; fault = fault.cause) {
    const { errno = 0 } = fault as NodeJS.ErrnoException;
    if (errno > 0) return errno;
  }
  return undefined;
}
