import { setTimeout as pause } from 'node:timers/promises';
import { fromMysql2Pool, type Mysql2PoolOptions } from '@ambit/drivers/mysql2';
import type { DatabasePool } from '@ambit/transaction';
import { createConnection, createPool } from 'mysql2/promise';

/** Its user may create databases. */
export const mariadbUrl = process.env['MARIADB_URL'] ?? 'mariadb://root@127.0.0.1:3306';

/** Without MariaDB its tests are skipped for all to see; where AMBIT_REQUIRE_MARIADB is 1 they fail instead. */
export const hasMariadb = process.env['AMBIT_REQUIRE_MARIADB'] === '1' || (await accepts());

type MariadbPoolOptions = Mysql2PoolOptions & { readonly max: number; readonly sqlMode?: string };

/** An empty database of the MariaDB of the tests, removed by `drop()`. */
export interface MariadbDatabase {
  readonly name: string;
  /** `port` sends it through a proxy. */
  url(port?: number): string;
  /** A pool over mysql2, which the caller closes; `sqlMode` is that of its sessions. */
  pool(options: MariadbPoolOptions): DatabasePool;
  /** Closes a session, and resolves when the server has forgotten it. */
  kill(session: unknown): Promise<void>;
  /** Runs a statement from outside of every pool. */
  admin(sql: string): Promise<unknown>;
  drop(): Promise<void>;
}

export async function openMariadbDatabase(): Promise<MariadbDatabase> {
  const name = `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const connection = await createConnection({ uri: mariadbUrl });
  await connection.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin`);
  const url = (port?: number): string => {
    const address = new URL(mariadbUrl);
    if (port !== undefined) address.host = `127.0.0.1:${port}`;
    address.pathname = name;
    return address.href;
  };
  return {
    name,
    url,
    pool: (options) => mariadbPool(url(), options),
    kill: async (session) => {
      await connection.query(`KILL ${Number(session)}`);
      const sql = 'SELECT 1 FROM information_schema.processlist WHERE id = ?';
      const isThere = async (): Promise<boolean> => {
        const [rows] = await connection.query(sql, [session]);
        return Array.isArray(rows) && rows.length > 0;
      };
      while (await isThere()) await pause(1);
    },
    admin: (sql) => connection.query(sql),
    drop: async () => {
      await connection.query(`DROP DATABASE ${name}`);
      await connection.end();
    },
  };
}

export function mariadbPool(url: string, { sqlMode, ...options }: MariadbPoolOptions): DatabasePool {
  const pool = createPool({ uri: url, connectionLimit: options.max });
  if (sqlMode !== undefined) pool.pool.on('connection', (session) => void session.query(`SET sql_mode = '${sqlMode}'`));
  return fromMysql2Pool(pool, options);
}

async function accepts(): Promise<boolean> {
  try {
    const connection = await createConnection({ uri: mariadbUrl, connectTimeout: 60_000 });
    await connection.end();
    return true;
  } catch {
    return false;
  }
}
