import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import { codeOf } from '../core/sql-state.js';
import type { Wire } from '../driver/driver.js';
import type { Connection, Connections } from './connections.js';

type Cell = Uint8Array | null;
type Columns = readonly { readonly name: string; readonly type: number }[];

interface Result extends Iterable<unknown> {
  readonly count: number | null;
  readonly command: string;
  readonly columns?: Columns;
}

interface Pending extends PromiseLike<Result> {
  cancel(): unknown;
  values(): Pending;
  raw(): Pending;
}

type Parsers = Readonly<Record<number, (text: string) => unknown>>;

/** What is used of a reserved connection of postgres.js. */
export interface PostgresJsReserved {
  /**
   * Sends one statement.
   *
   * @param text - the statement, with `$1 ... $n`
   * @param params - the values of `$1 ... $n`
   * @param options - which protocol to use, and whether to prepare the statement
   * @returns a `PendingQuery` of postgres.js
   */
  unsafe(text: string, params?: never[], options?: object): object;
  /** Returns the connection to its pool. */
  release(): void;
}

/** What is used of postgres.js. */
export interface PostgresJs {
  /**
   * Sends a statement of this package on any connection.
   *
   * @param text - the statement
   * @param params - none
   * @param options - which protocol to use, and what is called with the connection
   * @returns a `PendingQuery` of postgres.js
   */
  unsafe(text: string, params?: never[], options?: object): object;
  /**
   * Checks a connection out.
   *
   * @returns the connection
   */
  reserve(): Promise<PostgresJsReserved>;
  /**
   * Closes all connections.
   *
   * @param options - how many seconds to wait for statements in progress
   */
  end(options?: { timeout?: number }): Promise<void>;
  /** What `postgres()` was called with: how many connections there may be, and the parsers by the number of the type. */
  readonly options: { readonly max: number; readonly parsers: Parsers };
}

/** Its own codes for a lost connection, and Node's for a lost socket. */
const LOST = /^(?:CONNECTION_|CONNECT_TIMEOUT|ECONN|EPIPE|ETIMEDOUT)/;

const TERMINATE = 'DO $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); END $$';

export class PostgresJsWire implements Wire {
  isLost = false;
  lostBecause: unknown = undefined;
  readonly #reserved: PostgresJsReserved;
  readonly #parsers: Parsers;
  readonly #connections: Connections;
  #connection: Connection | undefined;
  #current: Pending | undefined;

  constructor(reserved: PostgresJsReserved, parsers: Parsers, connections: Connections) {
    this.#reserved = reserved;
    this.#parsers = parsers;
    this.#connections = connections;
  }

  async send(text: string, params?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    const { rowMode, types, prepare = true } = options;
    // postgres.js refuses undefined, which pg takes for NULL.
    const values = params?.map((value) => value ?? null) as never[] | undefined;
    // By default it sends a text without parameters by the protocol that takes several statements.
    const asked = { simple: params === undefined, prepare, onexecute: this.#watch };
    const pending = this.#reserved.unsafe(text, values, asked) as Pending;
    this.#current = pending;
    try {
      const result = await (types ? pending.raw() : rowMode === 'array' ? pending.values() : pending);
      const columns = result.columns ?? [];
      const rows = types ? this.#parsed([...(result as Iterable<Cell[]>)], columns, options) : [...result];
      const fields = columns.map(({ name, type }) => ({ name, dataTypeID: type }));
      const [command = ''] = result.command.split(' ');
      return { rows: rows as never[], rowCount: result.count, command, fields };
    } catch (error) {
      this.isLost ||= LOST.test(codeOf(error));
      throw error;
    } finally {
      this.#current = undefined;
    }
  }

  cancel(): void {
    this.#current?.cancel();
  }

  /** The next statement on a connection that was closed would crash the process: it is written to a socket that is closed. */
  readonly #watch = (connection: Connection): true => {
    this.#connection = connection;
    this.#connections.watch(connection, this.#onClose);
    return true;
  };

  readonly #onClose = (error: Error): void => {
    this.isLost = true;
    this.lostBecause ??= error;
  };

  /** The driver cannot close one reserved connection, so the server is asked to; then the driver opens another. */
  async release(possiblyBroken: boolean): Promise<void> {
    if (possiblyBroken) await this.#terminate();
    if (this.#connection && !this.isLost) this.#connections.watch(this.#connection);
    this.#connections.release(this.#reserved, possiblyBroken || this.isLost);
  }

  /** In a transaction that has failed, the server would do nothing else before the rollback. */
  async #terminate(): Promise<void> {
    for (const sql of ['ROLLBACK', TERMINATE]) {
      if (!this.isLost) await this.send(sql).catch(() => undefined);
    }
  }

  /** In postgres.js the parsers belong to the pool, so those of the caller are given the text. */
  #parsed(rows: readonly Cell[][], columns: Columns, { types, rowMode }: ExecuteOptions): unknown[] {
    const parsers = columns.map(({ type }) => types?.getTypeParser(type, 'text') ?? this.#parsers[type] ?? String);
    return rows.map((row) => {
      const values = row.map((cell, index) => (cell === null ? null : parsers[index]?.(Buffer.from(cell).toString())));
      if (rowMode === 'array') return values;
      return Object.fromEntries(columns.map(({ name }, index) => [name, values[index]] as const));
    });
  }
}
