import { setTimeout as pause } from 'node:timers/promises';
import { type DatabasePool, type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import type { Primary, Tenant } from './directory.ts';

/** Who the application logs in as: it owns nothing, so that its privileges can be revoked. */
const APPLICATION = 'shop';
/** Who owns the databases, creates the tables and moves tenants. */
const OWNER = process.env['OWNER'] ?? 'postgres';

export const databaseOf = (tenant: string): string => `shop_${tenant}`;

const TABLES = [
  'CREATE TABLE orders (id text PRIMARY KEY, product text NOT NULL, quantity integer NOT NULL)',
  'CREATE TABLE stock (product text PRIMARY KEY, level integer NOT NULL CHECK (level >= 0))',
];

/** The connections of the application to the database of one tenant. */
export const openPool = ({ name, home }: Tenant, max: number): DatabasePool =>
  createPostgresPool({ host: home.host, port: home.port, user: APPLICATION, database: databaseOf(name), max });

/** A connection as the owner, whose statements may take as long as the transactions they wait for. */
export const asOwner = ({ host, port }: Primary, database = 'postgres'): DatabasePool =>
  createPostgresPool({ host, port, user: OWNER, database, max: 1, queryTimeoutMs: Infinity });

/** How the subscriber of a move connects to its source. */
export const addressForOwner = ({ host, port }: Primary, database: string): string =>
  `host=${host} port=${port} user=${OWNER} dbname=${database}`;

export async function createRole(server: IDatabasePool): Promise<void> {
  const [known] = await server.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [APPLICATION]);
  if (!known) await server.query(`CREATE ROLE ${APPLICATION} LOGIN`);
  // A move waits for open transactions, also for that of an instance which hangs.
  await server.query(`ALTER ROLE ${APPLICATION} SET idle_in_transaction_session_timeout = '5s'`);
}

/** Empty tables that the application may not use yet. */
export async function createTables(database: IDatabasePool): Promise<void> {
  for (const sql of TABLES) await database.query(sql);
}

/** From now on the application may use the tables. */
export async function unlock(database: IDatabasePool): Promise<void> {
  await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${APPLICATION}`);
}

/** How often to wait a second for transactions in progress, before the move fails. */
const ATTEMPTS = 20;

/**
 * From now on no instance of the application reads or writes here, whatever it believes. The lock waits for every transaction
 * that has written; a statement that waits behind it finds that the privilege is missing.
 */
export async function lockOut(database: DatabasePool): Promise<void> {
  const tables = await database.query<{ list: string }>(
    "SELECT string_agg(format('%I.%I', schemaname, tablename), ', ' ORDER BY tablename) AS list FROM pg_tables WHERE schemaname = 'public'",
  );
  for (let attempt = 1; ; attempt += 1) {
    const connection = await database.getConnection();
    try {
      await connection.beginTransaction();
      // Meanwhile others wait behind the lock, so it is not asked for without a limit.
      await connection.query("SET LOCAL lock_timeout = '1s'");
      await connection.query(`LOCK TABLE ${tables[0]?.list} IN SHARE ROW EXCLUSIVE MODE`);
      await connection.query(`REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${APPLICATION}`);
      await connection.commit();
      return;
    } catch (error) {
      const mayRetry = ['55P03', '40P01'].includes(sqlStateOf(error) ?? '');
      if (!mayRetry || attempt === ATTEMPTS) throw error;
      await pause(100);
    } finally {
      connection.release();
    }
  }
}

/** Ends all sessions in a database, and what they do. @param server - another database of the same server */
export async function disconnectAll(server: IDatabasePool, database: string): Promise<void> {
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`;
  while ((await server.query(end, [database])).length > 0) await pause(20);
}

/** Disconnects everybody and renames the database: its name is free, its rows are kept until somebody drops it. */
export async function setAside(server: IDatabasePool, database: string): Promise<void> {
  const [exists] = await server.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
  if (!exists) return;
  await server.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
  await disconnectAll(server, database);
  await server.query(`ALTER DATABASE ${database} RENAME TO ${database}_until_${Date.now()}`);
}
