import { createRequire } from 'node:module';
import { type AddressInfo, connect } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import type { DatabasePool } from '@ambit/transaction';
import { PGlite } from '@electric-sql/pglite';
import { type BetterSqlite3, fromBetterSqlite3 } from '@ambit/drivers/better-sqlite3';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import { fromNodeSqlite } from '@ambit/drivers/node-sqlite';
import { fromPgPool } from '@ambit/drivers/pg';
import { fromPGlite } from '@ambit/drivers/pglite';
import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import mysql from 'mysql2/promise';
import { Pool } from 'pg';
import postgres from 'postgres';
import { afterAll } from 'vitest';
import { WebSocketServer } from 'ws';
import { LACKS } from '../../packages/drivers/test/support/lacks.js';
import { type ContractDatabase, poolContract } from '@ambit/testing/pools';
import { keepsLines } from '../../packages/transaction/test/support/lines.js';
import { MARIADB_LEFTOVERS } from '../../packages/transaction/test/support/mariadb-leftovers.js';
import { POSTGRES_LEFTOVERS } from '../../packages/transaction/test/support/postgres-leftovers.js';
import { LEFTOVERS_OF_ONE_CONNECTION } from '../../packages/transaction/test/support/sqlite-leftovers.js';
import { inFolder, mariadbUrl, newName, openSchema, postgresUrl, testDatabase } from './databases.js';

const require = createRequire(import.meta.url);

// It has no types of its own.
const BetterSqlite3Database = require('better-sqlite3-13') as new (path: string, options: object) => BetterSqlite3;

let started: Promise<PGlite> | undefined;
const pglite = (): Promise<PGlite> => (started ??= PGlite.create());
afterAll(async () => (await started)?.close());

/** A database whose handle others use, too. */
function sharedInFolder<T extends { exec(sql: string): unknown }>(
  open: (path: string) => T,
  poolOver: (database: T, options: object) => DatabasePool,
): ReturnType<typeof inFolder> {
  return inFolder((path, options) => {
    const database = open(path);
    const otherUser = async (statements: readonly string[]): Promise<void> => {
      for (const sql of statements) database.exec(sql);
    };
    return { pool: poolOver(database, options), otherUser };
  });
}

const { Pool: OldPool } = require('pg-8-11') as { Pool: typeof Pool };
const { Pool: NeonPool, neonConfig } = require('@neondatabase/serverless') as {
  Pool: typeof Pool;
  neonConfig: { wsProxy: () => string; useSecureWebSocket: boolean; pipelineConnect: false };
};

// Neon's driver is made of an older `pg`, and sends its protocol through WebSockets.
const tunnels = new WebSocketServer({ host: '127.0.0.1', port: 0 });
tunnels.on('connection', (client) => {
  const { hostname, port } = new URL(postgresUrl);
  const server = connect(Number(port), hostname);
  server.on('data', (bytes) => client.send(bytes));
  client.on('message', (bytes) => server.write(bytes as Buffer));
  server.on('close', () => client.close()).on('error', () => client.close());
  client.on('close', () => server.destroy());
});
neonConfig.wsProxy = () => `127.0.0.1:${(tunnels.address() as AddressInfo).port}`;
neonConfig.useSecureWebSocket = neonConfig.pipelineConnect = false;
afterAll(() => {
  tunnels.close();
});

function overPg(name: string, DriverPool: typeof Pool): ContractDatabase {
  return {
    name,
    hasSeveralWriters: true,
    terminates: true,
    isPostgres: true,
    leftovers: POSTGRES_LEFTOVERS,
    hasOtherUsers: true,
    open: async () => {
      const { url, drop } = await openSchema();
      return testDatabase(({ max, ...options }) => {
        const pool = new DriverPool({ connectionString: url, max });
        const otherUser = async (statements: readonly string[]): Promise<void> => {
          const client = await pool.connect();
          for (const sql of statements) await client.query(sql);
          client.release();
        };
        return { pool: fromPgPool(pool, options), otherUser };
      }, drop);
    },
  };
}

const pools: readonly ContractDatabase[] = [
  overPg('pg', Pool),
  overPg('pg 8.11', OldPool),
  overPg("Neon's driver", NeonPool),
  {
    name: 'postgres-js',
    hasSeveralWriters: true,
    terminates: true,
    isPostgres: true,
    leftovers: POSTGRES_LEFTOVERS,
    hasOtherUsers: true,
    open: async () => {
      const { url, schema, drop } = await openSchema();
      const address = new URL(url);
      address.search = '';
      const connection = { search_path: schema };
      return testDatabase(({ max, ...options }) => {
        const sql = postgres(address.href, { max, connection, onnotice: () => {} });
        const otherUser = async (statements: readonly string[]): Promise<void> => {
          const reserved = await sql.reserve();
          for (const text of statements) await reserved.unsafe(text);
          reserved.release();
        };
        return { pool: fromPostgresJs(sql, options), otherUser };
      }, drop);
    },
  },
  {
    name: 'pglite',
    hasOneConnection: true,
    isPostgres: true,
    leftovers: POSTGRES_LEFTOVERS,
    hasOtherUsers: true,
    open: async () => {
      // It takes seconds to start, so all tests share one.
      const database = await pglite();
      await database.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      const otherUser = async (statements: readonly string[]): Promise<void> => {
        for (const sql of statements) await database.exec(sql);
      };
      return testDatabase(({ max: _max, ...options }) => ({
        pool: fromPGlite(database, { ...options, keepOpen: true }),
        otherUser,
      }));
    },
  },
  {
    name: 'mysql2',
    hasSeveralWriters: true,
    leftovers: MARIADB_LEFTOVERS,
    hasOtherUsers: true,
    refusedCommit: 'killed connection',
    open: async () => {
      const name = newName();
      const admin = await mysql.createConnection(mariadbUrl);
      await admin.query(`CREATE DATABASE ${name}`);
      const uri = `${mariadbUrl}/${name}`;
      return testDatabase(
        ({ max, ...options }) => {
          const pool = mysql.createPool({ uri, connectionLimit: max });
          // The statements of the contract are standard SQL: "x" is a name in them, and || concatenates.
          pool.pool.on('connection', (connection) => void connection.query("SET sql_mode = 'ANSI,TRADITIONAL'"));
          const otherUser = async (statements: readonly string[]): Promise<void> => {
            const connection = await pool.getConnection();
            for (const sql of statements) await connection.query(sql);
            connection.release();
          };
          return { pool: fromMysql2Pool(pool, { max, ...options }), otherUser };
        },
        async () => {
          await admin.query(`DROP DATABASE ${name}`);
          await admin.query('DROP ROLE IF EXISTS ambit_tests');
          await admin.end();
        },
      );
    },
  },
  {
    name: 'node-sqlite',
    hasOneConnection: true,
    beginWaits: true,
    leftovers: LEFTOVERS_OF_ONE_CONNECTION,
    hasOtherUsers: true,
    open: () => sharedInFolder((path) => new DatabaseSync(path, { timeout: 0 }), fromNodeSqlite),
  },
  {
    name: 'better-sqlite3',
    hasOneConnection: true,
    beginWaits: true,
    leftovers: LEFTOVERS_OF_ONE_CONNECTION,
    hasOtherUsers: true,
    open: () => sharedInFolder((path) => new BetterSqlite3Database(path, { timeout: 0 }), fromBetterSqlite3),
  },
];

for (const pool of pools) poolContract({ ...pool, cannot: LACKS[pool.name] ?? {} }, keepsLines);
