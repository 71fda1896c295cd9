import type { DatabasePool, ExecuteOptions, ExecuteResult } from '../contract.js';
import { isTransactionError, notAPool, TransactionError } from '../errors.js';
import { wantsArrays } from '../options.js';
import type { Wire } from '../pool/driver.js';
import { type DriverPoolOptions, readDriverOptions } from '../pool/options.js';
import { Pool } from '../pool/pool.js';
import { commandOf, countsRows } from '../sql/command.js';
import { type SavepointStatement, savepointIn } from '../sql/control-statements.js';
import { SQLITE, tokensOf } from '../sql/lexer.js';
import { PositionalText } from '../sql/positional.js';
import { isScriptInSqlite } from '../sql/split-statements.js';
import { refusedSetting, severalStatements } from './connection.js';
import { changesSession, SQLITE_LANGUAGE } from './language.js';
import { rowsOf } from './values.js';

/** The members of `ctx.storage` of a Durable Object with SQLite that the pool uses. */
export interface DurableObjectStorage {
  /** Its SQLite. */
  readonly sql: {
    /** Runs a statement. */
    exec(
      sql: string,
      ...values: never[]
    ): { readonly columnNames: string[]; readonly rowsWritten: number; raw(): Iterable<unknown> };
  };
  /** Commits what `work` writes, unless it throws. */
  transactionSync<T>(work: () => T): T;
  /** Commits what is written until the promise of `work` resolves, unless `rollback()` was called. */
  transaction(work: (transaction: { rollback(): void }) => Promise<void>): Promise<void>;
}

type Result = ExecuteResult<never>;

/**
 * The pool over the SQLite of a Durable Object: one connection, handed out in turn.
 *
 * @param storage - `ctx.storage`
 * @param options - who may wait for the connection, and for how long
 * @returns a pool with the guarantees of docs/guides/workers.md
 * @throws `TransactionError` `AMBIT_TX_UNSUPPORTED`: it has no transactions, such as D1
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 */
export function durableObjectPoolOver(storage: DurableObjectStorage, options: DriverPoolOptions): DatabasePool {
  if (typeof storage.transaction !== 'function') throw notAPool('The storage', 'transaction', storage);
  const driver = {
    language: SQLITE_LANGUAGE,
    max: 1,
    connect: () => new StorageWire(storage),
    close: () => Promise.resolve(),
  };
  return new Pool(driver, readDriverOptions(options));
}

interface OpenTransaction {
  /** The name of a savepoint; a transaction has none. */
  readonly name: string | undefined;
  /** Commits or rolls back, with all that was begun within it. */
  end(keep: boolean): Promise<void>;
}

/** `sql.exec()` refuses BEGIN and SAVEPOINT: a transaction is a call of `transaction()`, and so is a savepoint, which is one within another. */
function begun(storage: DurableObjectStorage, name?: string): Promise<OpenTransaction> {
  return new Promise((resolve, reject) => {
    const work = (transaction: { rollback(): void }): Promise<void> =>
      new Promise((over) => {
        const end = (keep: boolean): Promise<void> => {
          if (!keep) transaction.rollback();
          over();
          return call;
        };
        resolve({ name, end });
      });
    const call = storage.transaction(work);
    call.catch(reject);
  });
}

class StorageWire implements Wire {
  readonly isLost = false;
  readonly #storage: DurableObjectStorage;
  /** The transaction, and the savepoints within it, the innermost last. */
  readonly #open: OpenTransaction[] = [];
  #readOnly = false;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  get outsideTransaction(): boolean {
    return this.#open.length === 0;
  }

  send(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Result | Promise<Result> {
    const savepoint = params && savepointIn(sql);
    if (savepoint) return this.#savepoint(savepoint, commandOf(sql, SQLITE));
    if (!params) return this.#control(sql);
    const run = (): Result => this.#run(sql, params, options);
    // A statement that is refused for its rows is undone.
    return this.outsideTransaction ? this.#storage.transactionSync(run) : run();
  }

  release(): void | Promise<void> {
    return this.outsideTransaction ? undefined : this.#end(0, false);
  }

  async #control(sql: string): Promise<Result> {
    if (sql.startsWith('BEGIN')) {
      this.#open.push(await begun(this.#storage));
      this.#readOnly = sql === 'BEGIN';
    } else await this.#end(0, sql === 'COMMIT' && !this.#readOnly);
    return { rows: [], rowCount: null, command: sql, fields: [] };
  }

  async #savepoint({ does, name }: SavepointStatement, command: string): Promise<Result> {
    if (does !== 'set') {
      const index = this.#open.findLastIndex((open) => open.name === name);
      if (index === -1) throw named(new Error(`no such savepoint: ${name}: SQLITE_ERROR`));
      await this.#end(index, does === 'release');
    }
    if (does !== 'release') this.#open.push(await begun(this.#storage, name));
    return { rows: [], rowCount: null, command, fields: [] };
  }

  /** From the innermost outwards: none can end before those within it. */
  async #end(index: number, keep: boolean): Promise<void> {
    for (const open of this.#open.splice(index).toReversed()) await open.end(keep);
  }

  #run(sql: string, params: readonly unknown[], options: ExecuteOptions | undefined): Result {
    if (isScriptInSqlite(sql)) throw severalStatements();
    if (changesSession(sql)) throw refusedSetting();
    if (rollsBackByItself(sql)) throw refusedRollback();
    // workerd binds every number as REAL, and no bigint: as text, an integer has all of its digits.
    const isInteger = (index: number): boolean => typeof params[index] === 'bigint';
    const positional = new PositionalText(sql, SQLITE, (index) => (isInteger(index) ? 'CAST(? AS INTEGER)' : '?'));
    const values = positional.inOrder(params).map((value) => (typeof value === 'bigint' ? String(value) : value));
    const { columnNames, rows, rowsWritten } = this.#exec(positional.text, values);
    // It is undone: a transaction that only reads is never committed.
    if (this.#readOnly && !this.outsideTransaction && rowsWritten > 0)
      throw named(new Error('attempt to write a readonly database: SQLITE_READONLY'));
    const command = commandOf(sql, SQLITE);
    const isReader = columnNames.length > 0;
    const isCounted = countsRows(command);
    const [changes = 0, rowId = 0] =
      isCounted && !isReader ? (this.#exec('SELECT changes(), last_insert_rowid()').rows[0] as number[]) : [];
    const result = {
      rows: rowsOf(rows, options && wantsArrays(options) ? undefined : columnNames) as never[],
      rowCount: isCounted ? (isReader ? rows.length : changes) : null,
      command,
      fields: options ? columnNames.map((name) => ({ name })) : [],
    };
    return command === 'INSERT' && !isReader && changes > 0 ? { ...result, insertId: rowId } : result;
  }

  #exec(sql: string, values: readonly unknown[] = []) {
    try {
      const cursor = this.#storage.sql.exec(sql, ...(values as never[]));
      const rows = Array.from(cursor.raw() as Iterable<unknown[]>, (row) => row.map(exact));
      return { columnNames: cursor.columnNames, rows, rowsWritten: cursor.rowsWritten };
    } catch (error) {
      throw isTransactionError(error) ? error : named(error);
    }
  }
}

/** `INSERT OR ROLLBACK`, `ON CONFLICT ROLLBACK`, and a trigger's `RAISE(ROLLBACK, ...)`. */
function rollsBackByItself(sql: string): boolean {
  if (!/rollback/i.test(sql)) return false;
  return [...tokensOf(sql, SQLITE)].some(({ kind, text }) => kind === 'word' && text.toLowerCase() === 'rollback');
}

function refusedRollback(): TransactionError {
  const what =
    'workerd resets a Durable Object whose transaction SQLite rolls back by itself: use ABORT in place of ROLLBACK';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what, { sqlState: '0A000' });
}

/** Bytes as other drivers have them. */
function exact(value: unknown): unknown {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw rounded();
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value;
}

function rounded(): TransactionError {
  const what = 'workerd rounds integers beyond 2^53: select them with CAST(... AS TEXT)';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what, { sqlState: '22003' });
}

/** workerd has SQLite's name of an error at the end of its message. */
function named(cause: unknown): Error {
  const { message } = cause as Error;
  const code = /\(extended: (\w+)\)$|: (SQLITE_\w+)$/.exec(message)?.slice(1).find(Boolean) ?? 'SQLITE_ERROR';
  return Object.assign(new Error(message, { cause }), { code });
}
