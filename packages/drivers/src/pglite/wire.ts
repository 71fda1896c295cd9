import { type ExecuteOptions, type ExecuteResult, TransactionError } from '@ambit/transaction';
import { dateText, type PostgresValue, type Wire } from '@ambit/transaction/extension';

interface Result {
  readonly rows: unknown[];
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly command?: string;
  readonly rowCount?: number;
}

/** The members of PGlite that the pool uses, from version 0.5.16 on. */
export interface PGlite {
  /** Runs one statement. */
  query(sql: string, params?: never[], options?: object): Promise<unknown>;
  /** Runs a statement of this package that cleans the connection for its next user. */
  exec(sql: string): Promise<unknown>;
  /** Closes the database. */
  close(): Promise<void>;
  /** True once it is closed. */
  readonly closed: boolean;
  /** True if a transaction is open. */
  isInTransaction(): boolean;
  /** Its own parsers, by the number of the type. It has none for a type that it gives as text. */
  readonly parsers: Readonly<Record<string, unknown>>;
}

type Types = Required<ExecuteOptions>['types'];

const BYTEA = 17;
const INT8 = 20;
/** Values as the `pg` driver gives them: PGlite itself gives a Uint8Array, and numbers, or bigints where these would be rounded. */
const OUR_PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [BYTEA]: (text) => Buffer.from(text.slice(2), 'hex'),
  [INT8]: (text) => text,
};

export class PGliteWire implements Wire {
  readonly #database: PGlite;
  readonly isLeftOpen: boolean;

  constructor(database: PGlite) {
    this.#database = database;
    this.isLeftOpen = database.isInTransaction();
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
    const asked = { rowMode, parsers, serializers: SERIALIZERS };
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

/** Texts are sent as they are, whatever the type. PGlite asks for a serializer by the number of the type. */
const SERIALIZERS: object = new Proxy(
  {},
  {
    get: (_own, oid) => (value: PostgresValue) => {
      if (value === null || typeof value === 'string') return value;
      if (value instanceof Date) return dateText(value);
      if (Number(oid) === BYTEA) return `\\x${Buffer.from(value).toString('hex')}`;
      throw new TransactionError('AMBIT_TX_PARAMETER', 'A parameter is bytes, and not for a bytea', {
        sqlState: '42804',
      });
    },
  },
);

function ours(oid: string, parse: unknown): unknown {
  return OUR_PARSERS[Number(oid)] ?? parse;
}

function tooOld(): TransactionError {
  const what = 'This version of PGlite does not report the command of a statement, so COMMIT cannot be checked';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what);
}
