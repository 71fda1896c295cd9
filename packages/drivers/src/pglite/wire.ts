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
  /**
   * Whether a transaction is open.
   *
   * @returns true from BEGIN to COMMIT or ROLLBACK
   */
  isInTransaction(): boolean;
  /** Its own parsers, by the number of the type. It has none for a type that it gives as text. */
  readonly parsers: Readonly<Record<string, unknown>>;
  /** Its own serializers, by the number of the type. */
  readonly serializers: Readonly<Record<string, unknown>>;
}

type Types = Required<ExecuteOptions>['types'];

const INT8 = 20;
/** As the `pg` driver gives it. PGlite gives numbers, and bigints where these would be rounded. */
const OUR_PARSERS = { [INT8]: (text: string) => text };

export class PGliteWire implements Wire {
  readonly #database: PGlite;
  readonly #serializers: object;
  readonly isLeftOpen: boolean;

  constructor(database: PGlite) {
    this.#database = database;
    this.isLeftOpen = database.isInTransaction();
    this.#serializers = sendingTexts(database);
  }

  get isLost(): boolean {
    return this.#database.closed;
  }

  get outsideTransaction(): boolean {
    return !this.#database.isInTransaction();
  }

  async send(sql: string, params?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    const { rowMode, types } = options;
    const parsers = types ? this.#replaced(types) : OUR_PARSERS;
    const asked = { rowMode, parsers, serializers: this.#serializers };
    const result = (await this.#database.query(sql, (params ?? []) as never[], asked)) as Result;
    const { rows, fields, command, rowCount } = result;
    if (command === undefined) throw tooOld();
    const given = types ? this.#parsed(result, types) : rows;
    return { rows: given as never[], rowCount: rowCount ?? null, command, fields };
  }

  /** It copies the parsers, so they have to be named; for a type without a parser of its own it would not ask for one. */
  #replaced(types: Types): object {
    const own = Object.entries(this.#database.parsers);
    return Object.fromEntries(
      own.map(([oid, parse]) => [oid, types.getTypeParser(Number(oid), 'text') ?? ours(oid, parse)]),
    );
  }

  /** The text of the types for which it has no parser. */
  #parsed({ rows, fields }: Result, types: Types): unknown[] {
    const left = fields.map(({ name, dataTypeID }, index) => {
      const parse = dataTypeID in this.#database.parsers ? undefined : types.getTypeParser(dataTypeID, 'text');
      return { name, index, parse };
    });
    const asked = left.filter(({ parse }) => parse !== undefined);
    for (const row of asked.length > 0 ? (rows as Record<string | number, unknown>[]) : []) {
      for (const { name, index, parse } of asked) {
        const key = Array.isArray(row) ? index : name;
        if (typeof row[key] === 'string') row[key] = parse?.(row[key]);
      }
    }
    return rows;
  }

  /** There is no other connection, so this one is cleaned. */
  async release(possiblyBroken: boolean): Promise<void> {
    if (!possiblyBroken || this.isLost) return;
    if (!this.outsideTransaction) await this.#database.exec('ROLLBACK');
    await this.#database.exec('DISCARD ALL');
  }
}

/** A text is sent as it is, as `pg` does. It asks for a serializer by the number of the type. */
function sendingTexts({ serializers }: PGlite): object {
  return new Proxy(serializers, {
    get: (own, oid) => {
      const serialize = own[String(oid)] as ((value: unknown) => string) | undefined;
      return serialize && ((value: unknown) => (typeof value === 'string' ? value : serialize(value)));
    },
  });
}

function ours(oid: string, parse: unknown): unknown {
  return Number(oid) === INT8 ? OUR_PARSERS[INT8] : parse;
}

function tooOld(): TransactionError {
  const what = 'This version of PGlite does not report the command of a statement, so COMMIT cannot be checked';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what);
}
