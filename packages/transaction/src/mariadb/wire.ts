import { isDate } from 'node:util/types';
import { type Clock, startTimer } from '../clock.js';
import type { ExecuteOptions, ExecuteResult } from '../contract.js';
import { TransactionError } from '../errors.js';
import { wantsArrays } from '../options.js';
import { bytesOf, convertAll, dateValue, jsonText, refusedType, refusedValue, textValue } from '../sql/values.js';
import type { Wire } from '../pool/driver.js';
import { commandOf, countsRows } from '../sql/command.js';
import { MYSQL } from '../sql/lexer.js';
import type { PositionalTexts } from '../sql/positional.js';
import { type Idle, lastingOf, type Mysql2Connection, type Mysql2Pool } from './connections.js';
import { conflict, isDeadlock, isFatal, isInterrupted, leftOpenBy } from './language.js';

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

/** The pool of PostgreSQL waits as long. */
const CANCEL_GRACE_MS = 1000;

/** Facts about a session, known for as long as it lasts. */
interface Session {
  /** The server is a node of a Galera cluster. */
  isOfCluster: boolean;
  /** Whose id `LAST_INSERT_ID()` gives; `returned` is that of rows that INSERT ... RETURNING gave, if they have one. */
  lastId: 'none' | 'own' | 'returned' | 'foreign';
}

export interface Mysql2Shared {
  readonly pool: Mysql2Pool;
  readonly idle: Idle;
  readonly sessions: WeakMap<object, Session>;
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
  isLeftOpen = false;
  readonly #connection: Mysql2Connection;
  readonly #shared: Mysql2Shared;
  readonly #session: Session;
  /** BEGIN was sent, and neither COMMIT nor ROLLBACK since. */
  #hasBegun = false;
  /** READ ONLY was not asked for. */
  #mayWrite = false;
  /** Outside of our transactions each statement must be one; where it is not, the next user gets another session. */
  #state = AUTOCOMMIT;
  /** Rejects the statement in progress. */
  #abandon: ((why: string) => void) | undefined = undefined;

  constructor(connection: Mysql2Connection, shared: Mysql2Shared, session: Session) {
    this.#connection = connection;
    this.#shared = shared;
    this.#session = session;
  }

  /** A connection from the driver's pool. One that is new, or that another user of that pool has had, may be in any state. */
  static async checkOut(shared: Mysql2Shared): Promise<Mysql2Wire> {
    const { connection, isAsLeft } = await shared.idle.take();
    const known = shared.sessions.get(lastingOf(connection));
    const session: Session = known ?? { isOfCluster: false, lastId: 'none' };
    const wire = new Mysql2Wire(connection, shared, session);
    if (known && isAsLeft) {
      if (known.lastId !== 'none') known.lastId = 'foreign';
      return wire;
    }
    try {
      await wire.#forgetId();
      wire.isLeftOpen = (wire.#state & IN_TRANSACTION) !== 0;
      if (wire.isLeftOpen) return wire;
      // If the server has another default, a single statement would begin a transaction that nobody commits.
      if (wire.#state !== AUTOCOMMIT) wire.#note(await wire.#query('SET autocommit = 1'));
      if (known) return wire;
      const [rows] = await wire.#limited(connection.query("SHOW VARIABLES LIKE 'wsrep_on'") as Promise<Response>);
      session.isOfCluster = Object.values((rows as object[])[0] ?? {}).includes('ON');
      shared.sessions.set(lastingOf(connection), session);
      return wire;
    } catch (error) {
      wire.release(true);
      throw error;
    }
  }

  async send(sql: string, params?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    // BEGIN, COMMIT or ROLLBACK.
    if (!params) {
      this.outsideTransaction = false;
      this.#hasBegun = sql.startsWith('START');
      this.#mayWrite = !sql.endsWith('READ ONLY');
    }
    let response: Response;
    try {
      if (params && this.#isIdUnknown && READS_ID.test(sql)) await this.#forgetForeignId();
      const sent = params ? this.#execute(sql, params, wantsArrays(options)) : this.#connection.query(sql);
      response = await this.#limited(sent as Promise<Response>);
    } catch (error) {
      // Where another node of the cluster has undone the transaction, the next statement says so, and this may be that one.
      if (sql === 'ROLLBACK' && isDeadlock(error)) {
        this.#state = AUTOCOMMIT;
        return resultOf(sql, 0);
      }
      this.isLost ||= isFatal(error) || (sql === 'COMMIT' && isInterrupted(error));
      if (params && this.#hasBegun && !this.isLost) await this.#ask();
      throw error;
    }
    const result = this.#read(sql, response);
    if (params && !this.#hasBegun && (this.#state & IN_TRANSACTION) !== 0) {
      this.isLost = true;
      throw leftOpenBy();
    }
    if (this.#mayHaveLost(response)) {
      await this.#ask();
      if (this.outsideTransaction) throw conflict();
    }
    return result;
  }

  get #isIdUnknown(): boolean {
    return this.#session.lastId === 'foreign' || this.#session.lastId === 'returned';
  }

  /** `LAST_INSERT_ID()` is that of this user, or 0. */
  async #forgetForeignId(): Promise<void> {
    if (this.#session.lastId === 'foreign') return this.#forgetId();
    const what = 'LAST_INSERT_ID() was called after INSERT ... RETURNING: the rows have the id';
    throw new TransactionError('AMBIT_TX_UNSUPPORTED', what, { sqlState: '0A000' });
  }

  async #forgetId(): Promise<void> {
    this.#note(await this.#query('SET last_insert_id = 0'));
    this.#session.lastId = 'none';
  }

  #read(sql: string, [rows, fields = []]: Response): ExecuteResult<never> {
    const command = commandOf(sql, MYSQL);
    if (!Array.isArray(rows)) {
      this.#note(rows);
      return { ...resultOf(command, rows.affectedRows), ...insertIdOf(rows.insertId) };
    }
    const [first, columns] = isOfProcedure(fields) ? [rows[0] as unknown[], fields[0]] : [rows, fields];
    if (command === 'INSERT' || command === 'REPLACE') this.#session.lastId = 'returned';
    if (first !== rows) this.#note(rows.at(-1) as Header);
    const names = columns.map(({ name }) => ({ name }));
    return { ...resultOf(command, first.length), rows: first as never[], fields: names };
  }

  #note({ serverStatus = this.#hasBegun ? IN_TRANSACTION : AUTOCOMMIT, insertId }: Header): void {
    if (insertId !== 0) this.#session.lastId = 'own';
    this.#state = serverStatus & (IN_TRANSACTION | AUTOCOMMIT);
    this.outsideTransaction = this.#hasBegun && (serverStatus & IN_TRANSACTION) === 0;
  }

  /** A node of a cluster that undoes the transaction while it prepares a SELECT says so in no error, and rows alone do not say it either. */
  #mayHaveLost([rows, fields = []]: Response): boolean {
    const saysNothing = Array.isArray(rows) && !isOfProcedure(fields);
    return saysNothing && this.#session.isOfCluster && this.#hasBegun && this.#mayWrite;
  }

  /** True if the transaction is still there: an error may undo the statement alone, or everything, and does not say which. */
  async #ask(): Promise<void> {
    try {
      this.#note(await this.#query('DO 0'));
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
    if (!possiblyBroken && !this.isLost && this.#state === AUTOCOMMIT) {
      this.#shared.idle.release(this.#connection);
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
      const stopTimer = startTimer(clock, timeOut, queryTimeoutMs);
      const settled = (): void => {
        stopTimer();
        if (this.#abandon === abandon) this.#abandon = undefined;
      };
      void asked.finally(settled).then(resolve, reject);
    });
  }

  /** Prepared, so the server itself binds the values and refuses a second statement. */
  #execute(sql: string, params: readonly unknown[], rowsAsArray: boolean): Promise<Response> {
    const { timezone = 'local' } = this.#connection.config ?? {};
    const toDriver = (value: unknown, position: number): unknown => mysqlValue(value, position, timezone);
    const { text, values } = this.#shared.texts.translate(sql, convertAll(params, toDriver));
    // Integers beyond the safe range are given as text.
    const config = { sql: text, values, rowsAsArray, supportBigNumbers: true, bigNumberStrings: false };
    return this.#connection.execute(config as never) as Promise<Response>;
  }

  async #query(sql: string): Promise<Header> {
    const [header] = await this.#limited(this.#connection.query(sql) as Promise<Response>);
    return header as Header;
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
const AUTOCOMMIT = 2;

/** Both are names that no comment can divide. */
const READS_ID = /\b(?:last_insert_id|identity)\b/i;

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
    const why = `is ${value.toISOString()}, which mysql2 reads as another time with timezone '${timezone}'`;
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
