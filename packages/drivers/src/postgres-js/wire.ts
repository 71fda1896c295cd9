import type { ExecuteOptions, ExecuteResult } from '@ambit/transaction';
import { codeOf, dateText, mayBePrepared, type PostgresValue, type Wire } from '@ambit/transaction/extension';

type Cell = Buffer | null;
type Columns = readonly { readonly name: string; readonly type: number }[];

interface Result extends Iterable<unknown> {
  readonly count: number | null;
  readonly command: string;
  readonly columns?: Columns;
}

interface Pending extends PromiseLike<Result> {
  cancel(): unknown;
  raw(): Pending;
}

/** The type of a literal in SQL: the server finds out which it has to be. */
const UNKNOWN = 705;

/** Parsers of arrays (postgres.js 3.4.9) are marked, and take the text behind its first bracket. */
type Parser = ((text: string) => unknown) & { readonly array?: boolean };
type Parsers = Readonly<Record<number, Parser>>;
type Transform = { readonly from?: ((value: never, column?: never) => unknown) | undefined };

/** The members of a reserved connection of postgres.js that the pool uses. */
export interface PostgresJsReserved {
  /** Sends one statement. */
  unsafe(text: string, params?: never[], options?: object): object;
  /** Announces the type of a value, which the library would otherwise ask the server for. */
  typed(value: never, oid: number): object;
  /** Returns the connection to its pool. */
  release(): void;
}

/** The members of postgres.js that the pool uses. */
export interface PostgresJs {
  /** Sends a statement of this package on any connection. */
  unsafe(text: string, params?: never[], options?: object): object;
  /** Checks a connection out. */
  reserve(): Promise<PostgresJsReserved>;
  /** Closes all connections. */
  end(options?: { timeout?: number }): Promise<void>;
  /** The options of `postgres()`: how many connections there may be, the parsers by the number of the type, and transforms. */
  readonly options: {
    readonly max: number;
    readonly parsers: Parsers;
    readonly transform?: { readonly value: Transform; readonly row: Transform };
  };
}

/** Its own codes for a lost connection, and Node's for a lost socket. */
const LOST = /^(?:CONNECTION_|CONNECT_TIMEOUT|ECONN|EPIPE|ETIMEDOUT)/;

export class PostgresJsWire implements Wire {
  isLost = false;
  lostBecause: unknown = undefined;
  readonly #reserved: PostgresJsReserved;
  readonly #options: PostgresJs['options'];
  readonly #connections: Connections;
  #connection: Connection | undefined;
  #current: Pending | undefined;
  #onClosed: (() => void) | undefined;

  constructor(reserved: PostgresJsReserved, options: PostgresJs['options'], connections: Connections) {
    this.#reserved = reserved;
    this.#options = options;
    this.#connections = connections;
  }

  async send(text: string, params?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    const { prepare = true } = options;
    const values = params?.map((value) => this.#sent(value as PostgresValue)) as never[] | undefined;
    // By default it sends a text without parameters by the protocol that takes several statements.
    const asked = { simple: params === undefined, prepare: prepare && mayBePrepared(text), onexecute: this.#watch };
    const pending = this.#reserved.unsafe(text, values, asked) as Pending;
    this.#current = pending;
    try {
      const result = await pending.raw();
      const columns = result.columns ?? [];
      const rows = this.#parsed(result as Iterable<Cell[]>, columns, options);
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

  /** The library would otherwise ask the server for the type, and make of a text what it takes that type for: a JSON of a JSON, or false. */
  #sent(value: PostgresValue): unknown {
    if (value === null || value instanceof Uint8Array) return value;
    return this.#reserved.typed((typeof value === 'string' ? value : dateText(value)) as never, UNKNOWN);
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

  /** Waits for the statement in progress. The session may have a role that could not terminate itself. */
  async #close(): Promise<void> {
    if (!this.isLost) await this.send('SELECT 1').catch(() => undefined);
    if (this.isLost) return;
    const closed = new Promise<void>((resolve) => (this.#onClosed = resolve));
    this.#connection?.terminate();
    await closed;
  }

  /** Parses as the library does, but asks the parsers of the caller first, and gives null for a NULL in an array. */
  #parsed(rows: Iterable<Cell[]>, columns: Columns, { types, rowMode }: ExecuteOptions): unknown[] {
    const { parsers, transform } = this.#options;
    const parse = columns.map(({ type }) => types?.getTypeParser(type, 'text') ?? parserOf(parsers[type]));
    const keys = columns.map(({ name }, index) => (rowMode === 'array' ? index : name));
    const { value: ofValue, row: ofRow } = (types ? undefined : transform) ?? NO_TRANSFORM;
    return Array.from(rows, (cells) => {
      const row = (rowMode === 'array' ? [] : {}) as Record<string | number, unknown>;
      for (let index = 0; index < cells.length; index += 1) {
        const value = cells[index] && parse[index]?.((cells[index] as Buffer).toString());
        row[keys[index] as string] = ofValue.from ? ofValue.from(value as never, columns[index] as never) : value;
      }
      return ofRow.from ? ofRow.from(row as never) : row;
    });
  }
}

const NO_TRANSFORM: Required<PostgresJs['options']>['transform'] = { value: {}, row: {} };

function parserOf(parser: Parser | undefined): (text: string) => unknown {
  if (!parser?.array) return parser ?? String;
  return (text) => {
    const array = parser(text.slice(text.indexOf('{') + 1)) as unknown[];
    return text.includes('NULL') ? withNulls(array, text) : array;
  };
}

/** One of its elements is in quotes, or has none. */
const ELEMENTS = /"(?:[^"\\]|\\.)*"|[^{},]+/gs;

/** postgres.js gives the text `NULL`, or what its parser makes of that. */
function withNulls(array: unknown[], text: string): unknown[] {
  const braces = text.slice(text.indexOf('{'));
  const elements = braces.matchAll(ELEMENTS);
  const dimensions = /^\{*/.exec(braces)?.[0].length ?? 1;
  const read = (items: unknown[], dimension: number): unknown[] =>
    items.map((item) => {
      if (dimension < dimensions) return read(item as unknown[], dimension + 1);
      return elements.next().value?.[0] === 'NULL' ? null : item;
    });
  return read(array, 1);
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
