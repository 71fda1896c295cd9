/** The members of a connection of `mysql2/promise` that the pool uses. */
export interface Mysql2Connection {
  /** Sends a statement of this package, such as COMMIT. */
  query(sql: string): Promise<unknown>;
  /** Prepares and runs a statement of the application. */
  execute(options: never, values?: never): Promise<unknown>;
  /** Returns the connection to its pool. */
  release(): void;
  /** Closes the connection: it may be broken. */
  destroy(): void;
  /** The number of the session, for `KILL QUERY`. */
  readonly threadId?: number | null;
  /** The connection that stays when this one returns to its pool. */
  readonly connection?: object;
  /** The options of `createPool()`; their `timezone` is that in which a Date is written. */
  readonly config?: { readonly timezone?: string };
}

/** The members of a pool of `mysql2/promise` that ours uses. */
export interface Mysql2Pool {
  /** Checks a connection out. */
  getConnection(): Promise<Mysql2Connection>;
  /** Closes all connections. */
  end(): Promise<void>;
  /**
   * Hears who takes connections, and returns them. Without it each connection is looked at before each use, which costs a statement.
   */
  on?(event: 'acquire' | 'release', listener: (connection: object) => void): unknown;
}

export const lastingOf = (connection: Mysql2Connection): object => connection.connection ?? connection;

/** The idle connections that are as our pool has left them: the driver's pool may have other users. */
export class Idle {
  readonly #pool: Mysql2Pool;
  readonly #asLeft = new WeakSet<object>();
  /** mysql2 emits both events before the call that causes them returns. It emits none where somebody has waited for the connection. */
  #isOurCall = false;
  #taken: object | undefined = undefined;

  constructor(pool: Mysql2Pool) {
    this.#pool = pool;
    pool.on?.('acquire', (connection) => {
      if (this.#asLeft.delete(connection) && this.#isOurCall) this.#taken = connection;
    });
    pool.on?.('release', (connection) => {
      if (this.#isOurCall) this.#asLeft.add(connection);
    });
  }

  async take(): Promise<{ connection: Mysql2Connection; isAsLeft: boolean }> {
    this.#taken = undefined;
    const asked = this.#call(() => this.#pool.getConnection());
    const taken = this.#taken;
    const connection = await asked;
    return { connection, isAsLeft: lastingOf(connection) === taken };
  }

  release(connection: Mysql2Connection): void {
    this.#call(() => connection.release());
  }

  #call<T>(call: () => T): T {
    this.#isOurCall = true;
    try {
      return call();
    } finally {
      this.#isOurCall = false;
    }
  }
}
