import { type DurableObjectStorage, fromDurableObject } from '@ambit/drivers/durable-object';
import type { DatabaseKind } from '@ambit/testing/hosts';
import type { PoolsToTest } from '@ambit/testing/pools';
import type { AcquireOptions, DatabasePool, IDatabasePool, IPooledConnection } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';

/** A connection of its own for each caller: a socket belongs to the request that opened it. */
class PoolOfEach implements IDatabasePool {
  readonly #open: () => ReturnType<typeof createPostgresPool>;
  constructor(connectionString: string) {
    this.#open = () => createPostgresPool({ connectionString, max: 1, acquireTimeoutMs: 60_000, closeTimeoutMs: 100 });
  }

  get size() {
    return { open: 0, idle: 0, waiting: 0 };
  }

  async getConnection(options?: AcquireOptions): Promise<IPooledConnection> {
    const pool = this.#open();
    let connection: IPooledConnection;
    try {
      connection = await pool.getConnection(options);
    } catch (error) {
      void pool.close();
      throw error;
    }
    const release = connection.release.bind(connection);
    connection.release = (destroy) => {
      release(destroy);
      void pool.close();
    };
    return connection;
  }

  async query<R extends object>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    const pool = this.#open();
    try {
      return await pool.query<R>(sql, params);
    } finally {
      await pool.close();
    }
  }

  async close(): Promise<void> {}
}

/** An empty schema, its address, and what drops it. */
async function openSchema(url: string) {
  const schema = `ambit_worker_${Math.random().toString(36).slice(2)}`;
  const admin = new PoolOfEach(url);
  await admin.query(`CREATE SCHEMA ${schema}`);
  const address = new URL(url);
  address.searchParams.set('options', `-c search_path=${schema}`);
  return { admin, url: address.href, drop: async () => void (await admin.query(`DROP SCHEMA ${schema} CASCADE`)) };
}

/** Pools that one request makes and uses. */
export async function poolsOf(url: string): Promise<PoolsToTest> {
  const schema = await openSchema(url);
  const pools: DatabasePool[] = [];
  return {
    pool: (options = {}) => {
      const pool = createPostgresPool({ connectionString: schema.url, max: 4, closeTimeoutMs: 100, ...options });
      pools.push(pool);
      return pool;
    },
    drop: async () => {
      await Promise.all(pools.map((pool) => pool.close()));
      await schema.drop();
    },
  };
}

export type ObjectStorage = DurableObjectStorage & { deleteAll(): Promise<void> };

/** Pools over the one database of a Durable Object. */
export async function poolsIn(storage: ObjectStorage): Promise<PoolsToTest> {
  const pools: DatabasePool[] = [];
  return {
    pool: ({ max: _one, ...options } = {}) => {
      const pool = fromDurableObject(storage, { closeTimeoutMs: 100, ...options });
      pools.push(pool);
      return pool;
    },
    drop: async () => {
      await Promise.all(pools.map((pool) => pool.close()));
      await storage.deleteAll();
    },
  };
}

export function databaseOf(url: string): DatabaseKind {
  return {
    name: 'PostgreSQL',
    dialect: 'postgres',
    missing: false,
    open: async () => {
      const { admin, url: address, drop } = await openSchema(url);
      return {
        pool: new PoolOfEach(address),
        writers: 2,
        defersConstraints: true,
        kill: async ({ inner }) => {
          const [row] = await inner.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
          await admin.query('SELECT pg_terminate_backend($1, 5000)', [row?.pid]);
        },
        drop,
      };
    },
  };
}
