import type { Bytes } from './data.js';

/** The error of a handler. */
export interface Failure {
  /** The name of its class. */
  readonly name: string;
  /** Its message, redacted. */
  readonly message: string;
  /** Its code, where it has one. */
  readonly code?: string;
  /** The first line of the application in its stack, such as `src/orders.ts:44`. */
  readonly line?: string;
}

/** The outcome of a request. */
export interface Outcome {
  /** The status of the response; undefined where the client left before it. */
  readonly status?: number;
  /** The error of its handler, where the host reports one. */
  readonly error?: Failure;
  /** Its duration. */
  readonly milliseconds: number;
  /** The client left after so many steps had begun. */
  readonly leftAfter?: number;
}

export type Pair = readonly [name: string, value: string];

/** Something that a handler read from outside: rows, a random value, the response of another server. */
export interface Step {
  readonly kind: 'statement' | 'random' | 'call';
  /** Milliseconds from the arrival of the request until it was asked for. */
  readonly at: number;
  /** Its place among all that was asked for and was settled. */
  readonly asked: number;
  /** Undefined where it was in progress when the request completed. */
  readonly settled?: number;
  readonly took?: number;
  /** The connection; none for a statement that needed none. */
  readonly wire?: number;
  /** The statement, as a place in `texts`. */
  readonly sql?: number;
  readonly params?: readonly unknown[];
  /** The names of the cells; missing where the driver gives rows as arrays. */
  columns?: readonly string[];
  rows?: readonly (readonly unknown[])[];
  rowCount?: number | null;
  command?: string;
  insertId?: number;
  fields?: readonly { readonly name: string; readonly dataTypeID?: number }[];
  /** The database has no transaction open on the connection, where the driver says so. */
  outside?: boolean;
  isLost?: true;
  /** The error of the connection, as the driver says it. */
  readonly lostBecause?: unknown;
  error?: unknown;
  /** Its data is not in the recording, which would be larger than `maxBytes`. */
  leftOut?: true;
  /** Which source of random values, or the method of a call. */
  readonly name?: string;
  /** Random values, one after the other from the same source. */
  values?: readonly unknown[];
  readonly url?: string;
  body?: Bytes;
  status?: number;
  headers?: readonly Pair[];
  response?: Bytes;
}

/** A request, and all that its handler has read from outside, as JSON. */
export interface Recording {
  /** The form of this object. */
  readonly format: 1;
  /** Four letters and digits, which are in the name of its file. */
  readonly id: string;
  /** When the request arrived, in ISO 8601. */
  readonly arrivedAt: string;
  /** The time zone of the process. */
  readonly timeZone: string;
  /** The statements of the connection finish within the call, as on SQLite. */
  readonly isSynchronous: boolean;
  /** The request as it arrived. */
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: readonly Pair[];
    readonly body?: Bytes;
  };
  /** The status, error and duration. */
  readonly outcome: Outcome;
  /** Present with the option `responses`. */
  readonly response?: { readonly headers: readonly Pair[]; readonly body: Bytes };
  /** The statements, each once. */
  readonly texts: readonly string[];
  /** In the order in which they were asked for. */
  readonly steps: readonly Step[];
  /** The places of replaced values: `header cookie`, `column password`. */
  readonly replaced: readonly string[];
  /** The values that stand there now. */
  readonly standIns: readonly string[];
  /** Missing parts, in words. */
  readonly leftOut: readonly string[];
}
