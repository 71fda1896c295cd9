import { lifetimes, onStart } from '@ambit/container';
import { createIdempotency } from '@ambit/idempotency';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { Caller } from './caller.ts';
import { OrderList, Orders } from './orders.ts';

export interface Config {
  /** PostgreSQL; without it, SQLite. */
  readonly databaseUrl: string | undefined;
  /** The file of SQLite. */
  readonly file: string;
}

export function openPool({ databaseUrl, file }: Config): IDatabasePool {
  return databaseUrl === undefined
    ? createSqlitePool({ path: file })
    : createPostgresPool({ connectionString: databaseUrl });
}

/** What is made per request or per transaction; NestJS makes the controllers, guards and the rest, once. */
export function createGraph(config: Config, pool = openPool(config)) {
  const dialect = config.databaseUrl === undefined ? 'sqlite' : 'postgres';
  const { of, make, registered, build } = lifetimes('application', 'request', 'transaction');
  return build({
    IDatabasePool: make('application', () => pool).pipe(onStart(() => createTables(pool, dialect))),
    IIdempotency: make('application', () => createIdempotency(pool, { dialect })).pipe(onStart((keys) => keys.start())),

    // Registered by AmbitModule on each scope.
    authorization: registered('request').as<string>(),
    IConnection: registered('transaction').as<IConnection>(),

    ICaller: of('request', Caller, ['authorization']),
    IOrderList: of('request', OrderList, ['IDatabasePool', 'ICaller']),
    IOrders: of('transaction', Orders, ['IConnection', 'ICaller']),
  });
}

/** Your migrations do this. */
async function createTables(pool: IDatabasePool, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const exist = await pool.query('SELECT id FROM orders LIMIT 1').then(
    () => true,
    () => false,
  );
  if (exist) return;
  const id = dialect === 'postgres' ? 'id SERIAL PRIMARY KEY' : 'id INTEGER PRIMARY KEY';
  await createIdempotency(pool, { dialect }).createTable();
  await pool.query('CREATE TABLE stock (product TEXT PRIMARY KEY, level INTEGER NOT NULL)');
  await pool.query("INSERT INTO stock (product, level) VALUES ('apple', 10)");
  await pool.query(
    `CREATE TABLE orders (${id}, product TEXT NOT NULL, quantity INTEGER NOT NULL, placed_by TEXT NOT NULL)`,
  );
}
