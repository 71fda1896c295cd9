import { type DatabasePool, type IDatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { ShopError } from './orders.ts';

/** A PostgreSQL server that is the home of some tenants. */
export interface Primary {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

export interface Tenant {
  readonly name: string;
  readonly home: Primary;
}

const TABLES = [
  'CREATE TABLE IF NOT EXISTS primaries (name text PRIMARY KEY, host text NOT NULL, port integer NOT NULL)',
  'CREATE TABLE IF NOT EXISTS tenants (name text PRIMARY KEY, home text NOT NULL REFERENCES primaries)',
  // The moves that have not finished: the next run finds here what was begun.
  `CREATE TABLE IF NOT EXISTS moves (
     tenant text PRIMARY KEY REFERENCES tenants,
     source text NOT NULL REFERENCES primaries,
     target text NOT NULL REFERENCES primaries CHECK (target <> source)
   )`,
];

const TENANT = `
  SELECT tenants.name, json_build_object('name', primaries.name, 'host', host, 'port', port) AS home
  FROM tenants JOIN primaries ON primaries.name = home WHERE tenants.name = $1`;

/** Where each tenant is. An instance asks when it opens the tenant, not at each request. */
export class Directory implements AsyncDisposable {
  readonly #pool: DatabasePool;

  /** @param url of the database that has the directory */
  constructor(url: string) {
    this.#pool = createPostgresPool({ connectionString: url, max: 2 });
  }

  /** For the programs that create and move tenants. */
  get database(): DatabasePool {
    return this.#pool;
  }

  async find(tenant: string): Promise<Tenant> {
    return findTenant(this.#pool, tenant);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
  }
}

export async function createDirectory(database: IDatabasePool): Promise<void> {
  for (const sql of TABLES) await database.query(sql);
}

export async function findTenant(database: Pick<IDatabasePool, 'query'>, name: string): Promise<Tenant> {
  const [tenant] = await database.query<{ name: string; home: Primary }>(TENANT, [name]);
  if (!tenant) throw new ShopError(404, `There is no tenant ${name}`);
  return tenant;
}

export async function findPrimary(database: Pick<IDatabasePool, 'query'>, name: string): Promise<Primary> {
  const [primary] = await database.query<{ name: string; host: string; port: number }>(
    'SELECT name, host, port FROM primaries WHERE name = $1',
    [name],
  );
  if (!primary) throw new Error(`There is no primary ${name}`);
  return primary;
}
