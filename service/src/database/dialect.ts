/** Everything in which our SQL differs between the two databases. */
export interface ISqlDialect {
  /** A FROM item over a JSON array parameter: each element is its column `value`. */
  readonly elements: (parameter: string) => string;
  /** Ends a SELECT whose rows must not change before the transaction ends. */
  readonly forUpdate: string;
  /** Whether `WITH` may hold INSERT and UPDATE, so that writes to several tables are one statement and one round trip. */
  readonly writesInWith: boolean;
  /** Makes a statement that meets another's lock fail soon, with SQLSTATE 55P03; undefined where there is nothing to meet. */
  readonly limitLockWait: string | undefined;
  readonly unlimitLockWait: string | undefined;
}

export const postgresDialect: ISqlDialect = {
  elements: (parameter) => `json_array_elements(CAST(${parameter} AS json))`,
  forUpdate: 'FOR UPDATE',
  writesInWith: true,
  limitLockWait: `SET LOCAL lock_timeout = '100ms'`,
  unlimitLockWait: 'SET LOCAL lock_timeout TO DEFAULT',
};

/** A transaction that writes has the file to itself from its first moment on. */
export const sqliteDialect: ISqlDialect = {
  elements: (parameter) => `json_each(${parameter})`,
  forUpdate: '',
  // Nor would it save anything: a statement is a call within this process.
  writesInWith: false,
  limitLockWait: undefined,
  unlimitLockWait: undefined,
};

/** A statement that is written once for each dialect: pools look statements up by their text. */
export function statement(write: (dialect: ISqlDialect) => string): (dialect: ISqlDialect) => string {
  const texts = new WeakMap<ISqlDialect, string>();
  return (dialect) => {
    const known = texts.get(dialect);
    if (known !== undefined) return known;
    const text = write(dialect);
    texts.set(dialect, text);
    return text;
  };
}
