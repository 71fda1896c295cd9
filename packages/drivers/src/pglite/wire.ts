import { type ExecuteOptions, type ExecuteResult, TransactionError } from '@ambit/transaction';
import type { Wire } from '@ambit/transaction/extension';

interface Result {
  readonly rows: unknown[];
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly command?: string;
  readonly rowCount?: number;
}

/** The members of PGlite that the pool uses, from version 0.5.16 on. */
export interface PGlite {
  /**
   * Runs one statement.
   *
   * @param sql - the statement, with `$1 ... $n`
   * @param params - the values of `$1 ... $n`
   * @param options - the `QueryOptions` of PGlite: the shape of the rows, and parsers
   * @returns the `Results` of PGlite
   */
  query(sql: string, params?: never[], options?: object): Promise<unknown>;
  /**
   * Runs a statement of this package that cleans the connection for its next user.
   *
   * @param sql - the statement
   * @returns whatever PGlite returns; it is not used
   */
  exec(sql: string): Promise<unknown>;
  /** Closes the database. */
  close(): Promise<void>;
  /** Whether it is closed. */
  readonly closed: boolean;
}

const INT8 = 20;
/** As the `pg` driver gives it. PGlite gives numbers, and bigints where these would be rounded. */
const OUR_PARSERS = { [INT8]: (text: string) => text };

export class PGliteWire implements Wire {
  readonly #database: PGlite;
  #inTransaction = false;

  constructor(database: PGlite) {
    this.#database = database;
  }

  get isLost(): boolean {
    return this.#database.closed;
  }

  async send(sql: string, params?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    const { rowMode, types } = options;
    const asked = { rowMode, parsers: types ? parsersOf(types) : OUR_PARSERS };
    const result = (await this.#database.query(sql, (params ?? []) as never[], asked)) as Result;
    const { rows, fields, command, rowCount } = result;
    if (command === undefined) throw tooOld();
    if (!params) this.#inTransaction = command === 'BEGIN';
    return { rows: rows as never[], rowCount: rowCount ?? null, command, fields };
  }

  /** There is no other connection, so this one is cleaned. */
  async release(possiblyBroken: boolean): Promise<void> {
    if (!possiblyBroken || this.isLost) return;
    if (this.#inTransaction) await this.#database.exec('ROLLBACK');
    await this.#database.exec('DISCARD ALL');
  }
}

/** It asks for a parser by the number of the type. */
function parsersOf(types: Required<ExecuteOptions>['types']): object {
  return new Proxy({}, { get: (_target, oid) => types.getTypeParser(Number(oid), 'text') });
}

function tooOld(): TransactionError {
  const what = 'This version of PGlite does not report the command of a statement, so COMMIT cannot be checked';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what);
}
