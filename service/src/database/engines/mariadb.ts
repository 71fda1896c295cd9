import { createRequire } from 'node:module';
import type { DatabasePool } from '@ambit/transaction';
import { fromMysql2Pool, type Mysql2Pool } from '@ambit/drivers/mysql2';
import type * as Mysql2 from 'mysql2/promise';
import { type MariadbConfig, placeOf } from '../../config/database.js';
import {
  CLOSE_TIMEOUT_MS,
  type IEngine,
  type ISqlDialect,
  type JsonColumns,
  MIGRATION_STATEMENT_MS,
  type MigrationRules,
  SERVER,
} from '../engine.js';

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
  findTables: `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()
     AND table_name IN ('migrations', 'users', 'orders', 'order_items', 'stock', 'reservations', 'idempotency_keys', 'outbox', 'outbox_turns')`,
};

/** How long the server may take to stop a statement by itself; then its connection is closed. */
const STOP_MS = 1000;

export const mariadbEngine = (config: MariadbConfig): IEngine => ({
  ...SERVER,
  advice: `${SERVER.advice}; it has to be MariaDB 10.11 or newer, with binlog_format ROW or MIXED`,
  place: placeOf(config),
  dialect: mariadbDialect,
  migrations: mariadbMigrations,
  createPool: () => createPool(config),
  // One connection holds the lock, the other creates the tables: that would complete the transaction of the lock.
  createMigrationPool: () => createPool({ ...config, poolSize: 2, queryTimeoutMs: MIGRATION_STATEMENT_MS }),
});

function createPool({ server, poolSize, acquireTimeoutMs, queryTimeoutMs }: MariadbConfig): DatabasePool {
  const { isVerified, ...address } = server;
  // Loaded where it is used: the others do without it.
  const { createPool: createDriver } = createRequire(import.meta.url)('mysql2/promise') as typeof Mysql2;
  const driver = createDriver({
    ...address,
    ...(isVerified && { ssl: { rejectUnauthorized: true, verifyIdentity: true } }),
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

/** The number of a server's error that does not know a setting. */
const UNKNOWN_SETTING = 1193;

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
        const { errno } = error as NodeJS.ErrnoException;
        throw errno === UNKNOWN_SETTING ? Object.assign(error as Error, { sqlState: '42704' }) : error;
      }
      ready.add(connection.connection);
      return connection;
    },
    end: () => driver.end(),
    on: (event, listener) => driver.on(event as 'acquire', listener),
  };
}
