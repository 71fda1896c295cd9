import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { postgresBinaries, postgresUser } from '../../../lab/kit/postgres.mjs';
import { freePort } from '../../../lab/kit/program.mjs';
import { startProgram } from './program.mjs';

const SETTINGS = {
  shared_buffers: '2GB',
  fsync: 'off',
  checkpoint_timeout: '1h',
  max_wal_size: '8GB',
  maintenance_work_mem: '512MB',
  // Rows that fill a new table need no log.
  wal_level: 'minimal',
  max_wal_senders: '0',
  shared_preload_libraries: 'pg_stat_statements',
};
/** What a service that has run for a while has in memory. */
const WARM = [
  'users',
  'users_pkey',
  'stock',
  'stock_pkey',
  'idempotency_keys',
  'idempotency_keys_pkey',
  'idempotency_keys_by_age',
];

/** @type {import('./engines.mjs').Kind} */
export const postgres = {
  settings: 'PostgreSQL 15 with `shared_buffers = 2GB` and `fsync = off`',
  columns: { pages: 'pages that PostgreSQL looks at', log: 'bytes of write-ahead log' },
  steady: ['pages'],
  start,
};

/** @returns {Promise<import('./engines.mjs').Engine>} */
async function start(folder) {
  const data = join(folder, 'data');
  const as = postgresUser();
  mkdirSync(folder, { recursive: true });
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid);
  const program = (name) => join(postgresBinaries(), name);
  if (!existsSync(join(data, 'PG_VERSION'))) {
    const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
    execFileSync(program('initdb'), ['-D', data, ...options], { ...as, cwd: folder, stdio: 'ignore' });
  }
  const port = await freePort();
  const urlOf = (name) => `postgres://postgres@127.0.0.1:${port}/${name}`;
  const given = Object.entries({ ...SETTINGS, port, listen_addresses: '127.0.0.1', unix_socket_directories: '' });
  const { connection: admin, ...server } = await startProgram(
    program('postgres'),
    ['-D', data, ...given.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { as, stopWith: 'SIGINT', connect: () => connect(urlOf('postgres')) },
  );
  /** @type {Map<string, Promise<Client>>} */
  const clients = new Map();
  const clientOf = (name) => {
    if (!clients.has(name)) clients.set(name, connect(urlOf(name)));
    return clients.get(name);
  };
  const run = async (name, sql) => (await (await clientOf(name)).query(sql)).rows;
  const leave = async (name) => {
    await (await clients.get(name))?.end();
    clients.delete(name);
  };
  return {
    environmentOf: (name) => ({ DATABASE_URL: urlOf(name) }),
    urlOf,
    run,
    create: async (name) => {
      await leave(name);
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await admin.query(`CREATE DATABASE ${name}`);
    },
    fill: async (name, inserts) => {
      const client = await clientOf(name);
      await client.query(
        'CREATE EXTENSION IF NOT EXISTS pg_stat_statements; CREATE EXTENSION IF NOT EXISTS pg_prewarm',
      );
      const tables = Object.keys(inserts);
      await client.query('BEGIN; SET LOCAL session_replication_role = replica');
      await client.query(`TRUNCATE ${tables.join(', ')}`);
      // An index on a random key is built when all rows are there.
      const isRandom = 'idempotency_keys' in inserts;
      if (isRandom) await client.query('ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey');
      for (const insert of Object.values(inserts)) await client.query(insert);
      if (isRandom) await client.query('ALTER TABLE idempotency_keys ADD PRIMARY KEY (key)');
      await client.query('COMMIT');
      for (const table of tables) await client.query(`VACUUM (FREEZE, ANALYZE) ${table}`);
      await client.query('CHECKPOINT');
    },
    warm: async (name) => {
      await run(name, `SELECT ${WARM.map((relation) => `pg_prewarm('${relation}')`).join(', ')}`);
      await run(name, 'CHECKPOINT');
    },
    used: async (name) => {
      const [counted] = await run(
        name,
        `SELECT CAST(sum(shared_blks_hit + shared_blks_read) AS float8) AS pages, CAST(sum(wal_bytes) AS float8) AS log
         FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND query NOT LIKE '%pg_stat_statements%'`,
      );
      return counted;
    },
    startCpu: server.startCpu,
    stop: async () => {
      await Promise.all([...clients.keys()].map(leave));
      await admin.end();
      await server.stop();
    },
  };
}

async function connect(connectionString) {
  const client = new Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  return client;
}
