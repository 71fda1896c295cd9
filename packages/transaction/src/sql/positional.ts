import { TransactionError } from '../errors.js';
import { type Dialect, tokensOf } from './lexer.js';

const MOST_TEXTS = 500;

/** One statement for a driver that binds by place. */
export class PositionalText {
  /** With the mark for each `$n`. */
  readonly text: string;
  /** Which parameter each `?` stands for, from 0 on; undefined where it is each in turn. */
  readonly #order: readonly number[] | undefined;
  readonly #count: number;

  constructor(sql: string, dialect: Dialect, mark: (index: number) => string = () => '?') {
    let text = '';
    const order: number[] = [];
    for (const token of tokensOf(sql, dialect)) {
      if (token.text.startsWith('?'))
        throw refused('The statement has ?, and parameters are written $1, $2 and so on', '42601');
      const isNumbered = token.kind === 'parameter';
      if (isNumbered) order.push(Number(token.text.slice(1)) - 1);
      if (order.at(-1) === -1) throw refused('There is no parameter $0', '42P02');
      text += isNumbered ? mark(Number(token.text.slice(1)) - 1) : token.text;
    }
    this.text = text;
    this.#order = order.every((parameter, place) => parameter === place) ? undefined : order;
    this.#count = Math.max(-1, ...order) + 1;
  }

  inOrder<T>(params: readonly T[]): readonly T[] {
    if (params.length !== this.#count)
      throw refused(`The statement has ${this.#count} parameter(s) and ${params.length} value(s)`, '08P01');
    return this.#order?.map((index) => params[index] as T) ?? params;
  }
}

const refused = (why: string, sqlState: string): TransactionError =>
  new TransactionError('AMBIT_TX_PARAMETER', why, { sqlState });

/**
 * Translates `$n` to `?`, outside of literals, for drivers that bind by place. Each text is read once.
 */
export class PositionalTexts {
  readonly #dialect: Dialect;
  readonly #known = new Map<string, PositionalText>();

  /** @param dialect - how the database reads a statement */
  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /**
   * A statement for the driver.
   *
   * @param sql - one statement with `$1 ... $n`
   * @param values - the values of `$1 ... $n`, as the driver takes them
   * @returns the text, and the values in the order of the `?`
   * @throws `TransactionError` `AMBIT_TX_PARAMETER`: too few values, too many, a `$0`, or a `?`
   */
  translate<T>(sql: string, values: readonly T[]): { readonly text: string; readonly values: readonly T[] } {
    const statement = this.#read(sql);
    return { text: statement.text, values: statement.inOrder(values) };
  }

  #read(sql: string): PositionalText {
    const known = this.#known.get(sql);
    if (known) return known;
    const read = new PositionalText(sql, this.#dialect);
    if (this.#known.size >= MOST_TEXTS) this.#known.clear();
    this.#known.set(sql, read);
    return read;
  }
}
