/**
 * The members of postgres.js that are used here, and its types do not declare: its queries call `handler` when they are awaited, and its
 * helpers write their part of the text. Checked with postgres.js 3.4.9.
 */

type Serialize = (value: unknown) => unknown;
type Parse = (text: string) => unknown;

/** A column of a result. */
export interface Column {
  readonly name: string;
  readonly type: number;
  readonly parser: Parse | undefined;
}

interface Transforms {
  readonly column: { readonly from?: (name: string) => string };
  readonly value: { readonly from?: (value: unknown, column: Column) => unknown };
  readonly row: { readonly from?: (row: unknown) => unknown };
}

/** What the application has called `postgres()` with. */
interface Options {
  readonly parsers: Readonly<Record<number, Parse | undefined>>;
  readonly serializers: Readonly<Record<number, Serialize | undefined>>;
  readonly transform: Transforms;
  readonly prepare: boolean;
  readonly debug: unknown;
  readonly fetch_types: boolean;
  readonly shared: { readonly typeArrayMap: Record<number, number> };
}

/** A query, which is a promise of its result. */
export interface Query extends Promise<unknown> {
  readonly tagged: boolean;
  strings: readonly string[];
  readonly args: readonly unknown[];
  readonly options: { readonly simple?: boolean; readonly prepare?: boolean };
  /** What the library calls when the query is awaited. */
  handler: ((query: Query) => void) & { debug?: unknown };
  canceller: unknown;
  /** While it is true, an iteration goes on. */
  active: boolean;
  readonly isRaw?: boolean | 'values';
  readonly onlyDescribe?: boolean;
  readonly streaming?: boolean;
  readonly cursorRows?: number;
  readonly cursorFn?: (result: unknown) => unknown;
  readonly forEachFn?: (row: unknown, result: unknown) => void;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** What `sql(values)` returns. */
export interface ValueHelper {
  build(before: string, parameters: unknown[], types: object, options: Options): unknown;
}

/** What `postgres()` returns, as far as it is used here. */
export interface PostgresJs {
  (first: unknown, ...rest: unknown[]): object;
  unsafe(text: string, args?: unknown, options?: unknown): Query;
  readonly options: Options;
  readonly PostgresError: new (fields: object) => Error;
  readonly CLOSE: object;
}
