import type { PostgresJs, PostgresJsReserved } from './wire.js';

/** What `onexecute` of a statement is called with: the connection that it runs on (postgres.js 3.4.9). */
export interface Connection {
  onclose: ((error: Error) => void) | null;
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
