import type { ExecuteOptions, ExecuteResult } from '@ambit/transaction';
import { codeOf, type Wire } from '@ambit/transaction/extension';

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

/** The type of a literal in SQL: the server finds out which it has to be. */
const UNKNOWN = 705;

type Parsers = Readonly<Record<number, (text: string) => unknown>>;

/** The members of a reserved connection of postgres.js that the pool uses. */
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
  /**
   * Announces the type of a value, which the library would otherwise ask the server for.
   *
   * @param value - the value
   * @param oid - the number of the type
   * @returns a `Parameter` of postgres.js
   */
  typed(value: never, oid: number): object;
  /** Returns the connection to its pool. */
  release(): void;
}

/** The members of postgres.js that the pool uses. */
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

export class PostgresJsWire implements Wire {
  isLost = false;
  lostBecause: unknown = undefined;
  readonly #reserved: PostgresJsReserved;
  readonly #parsers: Parsers;
  readonly #connections: Connections;
  #connection: Connection | undefined;
  #current: Pending | undefined;
  #onClosed: (() => void) | undefined;

  constructor(reserved: PostgresJsReserved, parsers: Parsers, connections: Connections) {
    this.#reserved = reserved;
    this.#parsers = parsers;
    this.#connections = connections;
  }

  async send(text: string, params?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    const { rowMode, types, prepare = true } = options;
    const values = params?.map((value) => this.#sent(value)) as never[] | undefined;
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

  /**
   * postgres.js refuses undefined, which pg takes for NULL. A text is sent as it is, as pg does: the library would make a JSON of a JSON, false
   * of `'true'`, and a time in the zone of this process of a date.
   */
  #sent(value: unknown): unknown {
    return typeof value === 'string' ? this.#reserved.typed(value as never, UNKNOWN) : (value ?? null);
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
    this.#onClosed?.();
  };

  /** The driver opens another connection in place of one that is closed. */
  async release(possiblyBroken: boolean): Promise<void> {
    if (possiblyBroken) await this.#close();
    if (this.#connection && !this.isLost) this.#connections.watch(this.#connection);
    this.#connections.release(this.#reserved, this.isLost);
  }

  /** Behind a statement in progress. The session may have a role that could not terminate itself. */
  async #close(): Promise<void> {
    if (!this.isLost) await this.send('SELECT 1').catch(() => undefined);
    if (this.isLost) return;
    const closed = new Promise<void>((resolve) => (this.#onClosed = resolve));
    this.#connection?.terminate();
    await closed;
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

/** What `onexecute` of a statement is called with: the connection that it runs on (postgres.js 3.4.9). */
export interface Connection {
  onclose: ((error: Error) => void) | null;
  /** Tells the server that the session ends, and closes the socket. */
  terminate(): void;
}

/** One query passes the error on, and one resets the place of the next row. */
const ROUNDS = 2;

/** Reserves connections so that none is lost to what postgres.js (3.4.9) does with one that the server has closed. */
export class Connections {
  readonly #sql: PostgresJs;
  readonly #open = new Set<Connection>();
  #reserved = 0;
  #hasLost = false;

  constructor(sql: PostgresJs) {
    this.#sql = sql;
  }

  /**
   * A `reserve()` for which a connection has to be opened would keep that connection forever where the server closes it
   * meanwhile, and never settles without `fetch_types`. So a query opens it first.
   */
  async reserve(): Promise<PostgresJsReserved> {
    this.#reserved += 1;
    try {
      if (this.#hasLost) await this.#heal();
      if (this.#open.size < this.#reserved) await this.#select();
      return await this.#sql.reserve();
    } catch (error) {
      this.#reserved -= 1;
      throw error;
    }
  }

  /** A reserved connection is returned, or lost. */
  release(reserved: PostgresJsReserved, isLost: boolean): void {
    this.#reserved -= 1;
    this.#hasLost ||= isLost;
    if (!isLost) reserved.release();
  }

  /** The listener is the one of `begin()`. No other is called when a connection without a statement is closed. */
  watch(connection: Connection, onClose?: (error: Error) => void): void {
    this.#open.add(connection);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is a field of postgres.js, and no event target
    connection.onclose = (error) => {
      this.#open.delete(connection);
      onClose?.(error);
    };
  }

  async #select(): Promise<void> {
    const onexecute = (connection: Connection): true => {
      this.watch(connection);
      return true;
    };
    await (this.#sql.unsafe('SELECT 1', [], { simple: true, onexecute }) as PromiseLike<unknown>);
  }

  /**
   * Where a connection was closed during a statement, postgres.js gives what was left of it to the next caller of the
   * connection that replaces it: its error, and then a result with holes. So queries of ours come first, on all connections,
   * since nobody can choose one.
   */
  async #heal(): Promise<void> {
    this.#hasLost = false;
    for (let round = 0; round < ROUNDS; round += 1) {
      await Promise.allSettled(Array.from({ length: this.#sql.options.max }, () => this.#select()));
    }
  }
}
