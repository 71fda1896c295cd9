import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuOfBackends, createPostgresDatabase, run } from '../shared/postgres.mjs';
import { migrate } from '../../service/dist/database/migrate.js';
import { engineOf } from '../../service/dist/database/engines.js';
import { productsOf, SCARCE, userId, USERS } from './works.mjs';

const PLENTY = 1_000_000_000;
/** Where Linux has a file system in memory. */
const MEMORY = '/dev/shm';
const CONTENTS = {
  users: 'SELECT name, email, length(id) AS id FROM users ORDER BY name, email',
  orders: `SELECT position, product_id, quantity, length(id) AS id, length(request_id) AS request_id,
    length(created_at) AS created_at FROM orders JOIN order_items ON order_id = id ORDER BY product_id, quantity, position`,
  reservations: `SELECT product_id, quantity FROM orders JOIN reservations USING (request_id)
    ORDER BY product_id, quantity`,
  stock: 'SELECT product_id, level FROM stock ORDER BY product_id',
};

let made = 0;
/** What drops those that are still there. */
const drops = new Set();

/** For the case that something failed on the way. */
export async function dropDatabases() {
  for (const drop of drops) await drop();
}

/**
 * A database for one server: the tables of the service, 100 users, and plenty of the products that are tracked. It waits
 * for the disk only where it is asked to: that wait is the same for all, and varies by more than they differ.
 */
export async function createDatabase(kind, { onDisk = false, products = 0 } = {}) {
  const { config, env, remove, cpu } = await (kind === 'postgres' ? createOnPostgres(onDisk) : createFolder(onDisk));
  const drop = async () => {
    drops.delete(drop);
    await remove();
  };
  drops.add(drop);

  const withPool = async (work) => {
    const pool = engineOf(config).createPool();
    try {
      return await work(pool);
    } finally {
      await pool.close();
    }
  };

  await withPool(async (pool) => {
    await migrate(pool, engineOf(config));
    for (let i = 0; i < USERS; i++) {
      const user = [userId(i), `User ${i}`, `user${i}@example.com`];
      await pool.query('INSERT INTO users (id, name, email) VALUES ($1, $2, $3)', user);
    }
    const levels = [...productsOf('tracked').map((product) => [product, PLENTY]), [SCARCE, 3]];
    for (const level of levels) await pool.query('INSERT INTO stock (product_id, level) VALUES ($1, $2)', level);
    await pool.query(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
       INSERT INTO stock (product_id, level) SELECT 'other-' || n, 0 FROM numbers WHERE n <= $1`,
      [products - levels.length],
    );
    // Not the tables that are empty: PostgreSQL would take them for small, and look through all of them at each foreign key.
    if (kind === 'postgres') await pool.query('ANALYZE users, stock');
  });

  return {
    env,
    drop,
    cpu,
    /** Everything that is stored, with the lengths of ids and times in their place. */
    contents: () =>
      withPool(async (pool) => {
        const tables = {};
        for (const [name, sql] of Object.entries(CONTENTS)) tables[name] = await pool.query(sql);
        return tables;
      }),
    /** How many requests have stored something. */
    stored: () =>
      withPool(async (pool) => {
        const [{ rows }] = await pool.query(
          'SELECT (SELECT count(*) FROM users) + (SELECT count(*) FROM orders) AS rows',
        );
        return Number(rows) - USERS;
      }),
  };
}

async function createOnPostgres(onDisk) {
  const name = `ambit_bench_${process.pid}_${made++}`;
  const { url, drop: remove } = await createPostgresDatabase(name);
  if (!onDisk) await run(url, `ALTER DATABASE ${name} SET synchronous_commit = off`);
  const config = { kind: 'postgres', url, poolSize: 1, prepare: true };
  return { config, remove, env: { DATABASE_URL: url }, cpu: () => cpuOfBackends(`datname = '${name}'`) };
}

async function createFolder(onDisk) {
  const parent = !onDisk && existsSync(MEMORY) ? MEMORY : tmpdir();
  const folder = await mkdtemp(join(parent, 'ambit-bench-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  return { config: { kind: 'sqlite', folder }, remove, env: { DATABASE_URL: '', DATA_DIR: folder } };
}
