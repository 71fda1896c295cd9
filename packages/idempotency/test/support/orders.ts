import { Container, type IContainer, Registration } from '@ambit/container';
import { databases as onDisk, type DatabaseKind, type TestDatabase } from '@ambit/test-kit';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import {
  createIdempotency,
  type Idempotency,
  type IdempotencyDialect,
  type IdempotentRequest,
  type NewResponse,
} from '../../src/index.js';

interface KeyDatabase extends Pick<DatabaseKind, 'name' | 'dialect' | 'missing'> {
  readonly open: (options?: { readonly writers?: number }) => Promise<Pick<TestDatabase, 'pool' | 'drop'>>;
}

/** Every database that keys can be in; in memory there is one connection for all. */
export const databases: readonly KeyDatabase[] = [
  ...onDisk,
  { name: 'SQLite in memory', missing: false, dialect: 'sqlite', open: openMemory },
];

async function openMemory(): Promise<Pick<TestDatabase, 'pool' | 'drop'>> {
  const pool = createSqlitePool({ path: ':memory:', closeTimeoutMs: 100 });
  return { pool, drop: () => pool.close() };
}

/** An application with one table of orders, on one database. */
export class Orders {
  readonly app: Container;
  readonly pool: IDatabasePool;
  readonly dialect: IdempotencyDialect;
  readonly idempotency: Idempotency;
  /** Another process would have another one. */
  readonly otherProcess: Idempotency;

  constructor(pool: IDatabasePool, dialect: IdempotencyDialect) {
    this.pool = pool;
    this.dialect = dialect;
    this.app = new Container({ tags: ['application'] }).addRegistration(
      Registration.fromValue(pool).to('IDatabasePool'),
    );
    this.idempotency = createIdempotency(pool, { dialect });
    this.otherProcess = createIdempotency(pool, { dialect });
  }

  async createTables(): Promise<void> {
    await this.pool.query('CREATE TABLE orders (id varchar(36) PRIMARY KEY)');
    await this.idempotency.createTable();
  }

  async clear(): Promise<void> {
    for (const table of ['orders', 'idempotency_keys']) await this.pool.query(`DELETE FROM ${table}`);
  }

  request(key = 'a-key', others: Partial<IdempotentRequest> = {}): IdempotentRequest {
    return { key, caller: undefined, endpoint: 'POST /orders', input: null, ...others };
  }

  requestScope(): IContainer {
    return this.app.createScope({ tags: ['request'] });
  }

  /** Stores an order in the transaction of the scope. */
  readonly place = async (scope: IContainer): Promise<NewResponse<{ id: string }>> => {
    const id = crypto.randomUUID();
    await scope.resolve<IConnection>('IConnection').query('INSERT INTO orders (id) VALUES ($1)', [id]);
    return { status: 201, body: { id } };
  };

  /** Stores rows as earlier requests have left them. */
  async leave(...rows: readonly Readonly<Record<string, string | number>>[]): Promise<void> {
    // `key` is a reserved word of MariaDB.
    const columns = Object.keys(rows[0] ?? {}).map((name) => (this.dialect === 'mariadb' ? `\`${name}\`` : name));
    const literal = (value: string | number): string => (typeof value === 'string' ? `'${value}'` : String(value));
    const values = rows.map((row) => `(${Object.values(row).map(literal).join()})`);
    await this.pool.query(`INSERT INTO idempotency_keys (${columns.join()}) VALUES ${values.join()}`);
  }

  async stored(): Promise<number> {
    return (await this.pool.query('SELECT id FROM orders')).length;
  }

  async keys(table = 'idempotency_keys'): Promise<string[]> {
    const rows = await this.pool.query<{ key: string }>(`SELECT ${table}.key FROM ${table} ORDER BY 1`);
    return rows.map(({ key }) => key);
  }
}
