import { isDate } from 'node:util/types';
import type { Clock, ExecuteOptions, ExecuteResult } from '@ambit/transaction';
import {
  bytesOf,
  commandOf,
  countsRows,
  dateValue,
  jsonText,
  MYSQL,
  type PositionalTexts,
  refusedType,
  refusedValue,
  textValue,
  wantsArrays,
  type Wire,
} from '@ambit/transaction/extension';
import { isDeadlock, isFatal, isInterrupted } from './language.js';

/** The members of a connection of `mysql2/promise` that the pool uses. */
export interface Mysql2Connection {
  /**
   * Sends a statement of this package, such as COMMIT.
   *
   * @param sql - the statement
   * @returns the result and the fields
   */
  query(sql: string): Promise<unknown>;
  /**
   * Prepares and runs a statement of the application.
   *
   * @param options - the `QueryOptions` of mysql2, with the statement and its values
   * @param values - not used
   * @returns the result and the fields
   */
  execute(options: never, values?: never): Promise<unknown>;
  /** Returns the connection to its pool. */
  release(): void;
  /** Closes the connection: it may be broken. */
  destroy(): void;
  /** The number of the session, for `KILL QUERY`. */
  readonly threadId?: number | null;
  /** The connection that stays when this one returns to its pool. */
  readonly connection?: object;
  /** What `createPool()` was called with; its `timezone` is that in which a Date is written. */
  readonly config?: { readonly timezone?: string };
}

/** The members of a pool of `mysql2/promise` that ours uses. */
export interface Mysql2Pool {
  /**
   * Checks a connection out.
   *
   * @returns the connection
   */
  getConnection(): Promise<Mysql2Connection>;
  /** Closes all connections. */
  end(): Promise<void>;
  /** The pool that takes callbacks; its option to give each user a session as the server begins one. */
  readonly pool?: { readonly config?: { readonly resetOnRelease?: boolean } };
}

interface Header {
  readonly affectedRows: number;
  readonly insertId: number | string;
  /** Flags of the session after the statement. */
  readonly serverStatus?: number;
}

type Fields = readonly { name: string }[];
/** A procedure may give several lists of rows, and then a header. */
type FieldsOfProcedure = readonly [Fields, ...unknown[]];
type Response = readonly [rows: unknown[] | Header, fields?: Fields | FieldsOfProcedure];

/** Timers of Node fire at once beyond it. */
const LONGEST_MS = 2 ** 31 - 1;

/** As the pool of PostgreSQL waits. */
const CANCEL_GRACE_MS = 1000;

/** What all connections of a pool share. */
export interface Mysql2Shared {
  readonly pool: Mysql2Pool;
  readonly texts: PositionalTexts;
  readonly queryTimeoutMs: number;
  readonly clock: Clock;
}

export class Mysql2Wire implements Wire {
  isLost = false;
  /**
   * The server has rolled back or completed the transaction by itself: after a deadlock or another conflict, in a procedure, or because a node
   * of a Galera cluster has lost it. What came after that would be stored at once, and COMMIT would succeed.
   */
  outsideTransaction = false;
  readonly #connection: Mysql2Connection;
  readonly #shared: Mysql2Shared;
  /** BEGIN was sent, and neither COMMIT nor ROLLBACK since. */
  #hasBegun = false;
  /** Rejects the statement in progress. */
  #abandon: ((why: string) => void) | undefined = undefined;

  constructor(connection: Mysql2Connection, shared: Mysql2Shared) {
    this.#connection = connection;
    this.#shared = shared;
  }

  async send(sql: string, params?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    // BEGIN, COMMIT or ROLLBACK.
    if (!params) {
      this.outsideTransaction = false;
      this.#hasBegun = sql.startsWith('START');
    }
    try {
      const sent = params ? this.#execute(sql, params, wantsArrays(options)) : this.#query(sql);
      return this.#read(sql, await this.#limited(sent));
    } catch (error) {
      // Where another node of the cluster has undone the transaction, the next statement says so, and this may be that one.
      if (sql === 'ROLLBACK' && isDeadlock(error)) return resultOf(sql, 0);
      this.isLost ||= isFatal(error) || (sql === 'COMMIT' && isInterrupted(error));
      if (params && this.#hasBegun && !this.isLost) await this.#ask();
      throw error;
    }
  }

  #read(sql: string, [rows, fields = []]: Response): ExecuteResult<never> {
    const command = commandOf(sql, MYSQL);
    if (!Array.isArray(rows)) {
      this.#note(rows);
      return { ...resultOf(command, rows.affectedRows), ...insertIdOf(rows.insertId) };
    }
    const [first, columns] = isOfProcedure(fields) ? [rows[0] as unknown[], fields[0]] : [rows, fields];
    if (first !== rows) this.#note(rows.at(-1) as Header);
    const names = columns.map(({ name }) => ({ name }));
    return { ...resultOf(command, first.length), rows: first as never[], fields: names };
  }

  #note({ serverStatus = IN_TRANSACTION }: Header): void {
    this.outsideTransaction = this.#hasBegun && (serverStatus & IN_TRANSACTION) === 0;
  }

  /** Whether the transaction is still there: an error may undo the statement alone, or everything, and does not say which. */
  async #ask(): Promise<void> {
    try {
      const [header] = await this.#limited(this.#query('DO 0'));
      this.#note(header as Header);
    } catch (error) {
      if (isDeadlock(error)) this.outsideTransaction = true;
      else this.isLost = true;
    }
  }

  /** MySQL stops a statement only when another connection asks for it. Where that has no effect, the connection is closed. */
  cancel(): void {
    const { threadId } = this.#connection;
    if (threadId) void killQuery(this.#shared, threadId).catch(() => undefined);
    const inProgress = this.#abandon;
    if (!inProgress) return;
    this.#shared.clock.setTimer(() => {
      if (this.#abandon === inProgress) inProgress('The server did not stop a statement that was cancelled');
    }, CANCEL_GRACE_MS);
  }

  release(possiblyBroken: boolean): void {
    if (!possiblyBroken && !this.isLost) {
      this.#connection.release();
      return;
    }
    this.#connection.destroy();
    this.#abandon?.('The connection was closed during a statement');
  }

  /** Settles for a server that does not respond, too: mysql2 would wait forever, even when the connection is destroyed. */
  #limited<T>(asked: Promise<T>): Promise<T> {
    const { clock, queryTimeoutMs } = this.#shared;
    return new Promise((resolve, reject) => {
      const abandon = (why: string): void => {
        this.isLost = true;
        reject(new Error(why));
      };
      this.#abandon = abandon;
      const timeOut = (): void => {
        this.cancel();
        abandon(`The server did not respond to a statement within ${queryTimeoutMs} ms`);
      };
      const stopTimer = queryTimeoutMs > LONGEST_MS ? undefined : clock.setTimer(timeOut, queryTimeoutMs);
      const settled = (): void => {
        stopTimer?.();
        if (this.#abandon === abandon) this.#abandon = undefined;
      };
      void asked.finally(settled).then(resolve, reject);
    });
  }

  /** Prepared, so the server itself binds the values and refuses a second statement. */
  #execute(sql: string, params: readonly unknown[], rowsAsArray: boolean): Promise<Response> {
    const { timezone = 'local' } = this.#connection.config ?? {};
    const toDriver = (value: unknown, position: number): unknown => mysqlValue(value, position, timezone);
    const { text, values } = this.#shared.texts.translate(sql, params, toDriver);
    // Integers beyond the safe range are given as text.
    const config = { sql: text, values, rowsAsArray, supportBigNumbers: true, bigNumberStrings: false };
    return this.#connection.execute(config as never) as Promise<Response>;
  }

  #query(sql: string): Promise<Response> {
    return this.#connection.query(sql) as Promise<Response>;
  }
}

/** The connection that asks for it may be as dead as the other one. */
async function killQuery({ pool, clock }: Mysql2Shared, threadId: number): Promise<void> {
  const connection = await pool.getConnection();
  const stopTimer = clock.setTimer(() => connection.destroy(), CANCEL_GRACE_MS);
  try {
    await connection.query(`KILL QUERY ${threadId}`);
    connection.release();
  } catch {
    connection.destroy();
  } finally {
    stopTimer();
  }
}

const IN_TRANSACTION = 1;

const isOfProcedure = (fields: Fields | FieldsOfProcedure): fields is FieldsOfProcedure => Array.isArray(fields[0]);

function resultOf(command: string, count: number): ExecuteResult<never> {
  return { rows: [], rowCount: countsRows(command) ? count : null, command, fields: [] };
}

/** The server says 0 where no id was given; an id beyond the safe range is text, and as a number would be that of another row. */
function insertIdOf(id: number | string): { insertId?: number } {
  return Number(id) > 0 && Number.isSafeInteger(Number(id)) ? { insertId: Number(id) } : {};
}

/** A value as mysql2 keeps it. A value that mysql2 or the server would change is refused. */
function mysqlValue(value: unknown, position: number, timezone: string): unknown {
  switch (typeof value) {
    case 'string':
      return textValue(value, position);
    case 'number':
      // The server has no Infinity, and stores it as 0 in a DECIMAL column.
      if (!Number.isFinite(value)) throw refusedValue(position, `is ${value}, not a finite number`, '22003');
      return value;
    case 'object':
      return value && objectValue(value, position, timezone);
    case 'bigint':
    case 'boolean':
      return value;
    case 'undefined':
      return null;
    case 'symbol':
    case 'function':
      break;
  }
  throw refusedType(value, position);
}

function objectValue(value: object, position: number, timezone: string): unknown {
  if (isDate(value)) {
    if (isKept(dateValue(value, position), timezone)) return value;
    const why = `is ${value.toISOString()}, which mysql2 gives back as another time with timezone '${timezone}'`;
    throw refusedValue(position, why, '22008');
  }
  if (value.constructor?.name === 'TypedParameter') return value;
  return bytesOf(value) ?? jsonText(value, position);
}

/** The columns have no time zone: mysql2 writes a day and a time of day, and makes a Date of them again. */
function isKept(date: Date, timezone: string): boolean {
  const [, sign, hours = 0, minutes = 0] = /^([+-])(\d\d):?(\d\d)$/.exec(timezone) ?? [];
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  const isLocal = timezone === 'local';
  const year = isLocal ? date.getFullYear() : new Date(date.getTime() + offset * 60_000).getUTCFullYear();
  // mysql2 makes 1999 of year 99, and the server 0000-00-00 of year 10000.
  return year > 99 && year < 10_000 && (!isLocal || readLocal(date) === date.getTime());
}

/** Two hours are one where the clock is put back. */
function readLocal(date: Date): number {
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  const time = [date.getHours(), date.getMinutes(), date.getSeconds(), date.getMilliseconds()] as const;
  return new Date(year, month, day, ...time).getTime();
}
