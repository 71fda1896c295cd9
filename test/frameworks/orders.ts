import { Container, Registration } from '@ambit/container';
import type { IConnection, IDatabasePool, IPooledConnection } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { openProxy } from '@ambit/test-kit';
import { DATABASES, type DatabaseKind, type TestDatabase } from '../libraries/databases.js';

/** What becomes of COMMIT. */
export type Outcome = 'succeeds' | 'fails' | 'hangs';

/** The database of an application that stores an order with each request, and whose COMMIT can fail and hang. */
export class Orders {
  /** What applies to the COMMITs from now on. */
  outcome: Outcome = 'succeeds';
  readonly #database: TestDatabase;
  #pool: IDatabasePool;
  #close: () => Promise<void> = async () => undefined;

  private constructor(database: TestDatabase) {
    this.#database = database;
    this.#pool = database.pool;
  }

  static async open(kind: DatabaseKind): Promise<Orders> {
    const database = await DATABASES[kind]();
    await database.pool.query('CREATE TABLE products (id TEXT PRIMARY KEY)');
    await database.pool.query(
      'CREATE TABLE orders (id TEXT PRIMARY KEY, product TEXT REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED)',
    );
    const orders = new Orders(database);
    orders.#pool = kind === 'SQLite' ? orders.#unsettled() : await orders.#behindProxy();
    return orders;
  }

  /** For one application. */
  openContainer(): Container {
    const container = new Container({ tags: ['application'] });
    container.addRegistration(Registration.fromValue(this.#pool).to('IDatabasePool'));
    return container;
  }

  /** The row of a COMMIT that fails refers to a product that is missing, which both databases check only then. */
  async insert(connection: IConnection): Promise<void> {
    const product = this.outcome === 'fails' ? 'no such product' : null;
    await connection.query('INSERT INTO orders (id, product) VALUES ($1, $2)', [crypto.randomUUID(), product]);
  }

  /** How many were stored since the last call. */
  async takeStored(): Promise<number> {
    return (await this.#database.pool.query('DELETE FROM orders RETURNING id')).length;
  }

  async drop(): Promise<void> {
    await this.#close();
    await this.#database.drop();
  }

  /** PostgreSQL never sees a COMMIT that hangs. */
  async #behindProxy(): Promise<IDatabasePool> {
    const address = new URL(this.#database.address);
    const proxy = await openProxy({ host: address.hostname, port: Number(address.port || 5432) });
    proxy.faultAt = (message) => (this.outcome === 'hangs' && message.includes('COMMIT') ? 'swallowed' : 'none');
    address.port = String(proxy.port);
    const pool = createPostgresPool({ connectionString: address.href, closeTimeoutMs: 100 });
    this.#close = async () => {
      await pool.close();
      await proxy.close();
    };
    return pool;
  }

  /** SQLite has no line that could fall silent, so a pool around it plays a driver that never replies. */
  #unsettled(): IDatabasePool {
    const { pool } = this.#database;
    const watched = (connection: IPooledConnection): IPooledConnection => ({
      beginTransaction: (options) => connection.beginTransaction(options),
      query: (sql, params) => connection.query(sql, params),
      commit: () => (this.outcome === 'hangs' ? new Promise(() => undefined) : connection.commit()),
      rollback: () => connection.rollback(),
      release: (destroy) => connection.release(destroy),
    });
    return {
      getConnection: async (options) => watched(await pool.getConnection(options)),
      query: (sql, params) => pool.query(sql, params),
      close: () => pool.close(),
    };
  }
}
