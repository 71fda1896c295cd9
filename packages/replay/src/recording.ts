import { TransactionError, type TransactionErrorCode } from '@ambit/transaction';
import { type Bytes, packed, packedBytes, sizeOf, unpacked } from './data.js';
import { lineOf } from './line.js';

/** What a handler failed with. */
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
  /** What its handler failed with, where the host says so. */
  readonly error?: Failure;
  /** How long it took. */
  readonly milliseconds: number;
  /** The client left after so many steps had begun. */
  readonly leftAfter?: number;
}

type Pair = readonly [name: string, value: string];

/** Something that a handler read from outside: rows, a random value, the response of another server. */
export interface Step {
  readonly kind: 'statement' | 'connect' | 'random' | 'call';
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
  /** Of rows that are objects; without it, each row is an array. */
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
  value?: unknown;
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
  /** As it arrived. */
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: readonly Pair[];
    readonly body?: Bytes;
  };
  /** What came of it. */
  readonly outcome: Outcome;
  /** Where the option `responses` asks for it. */
  readonly response?: { readonly headers: readonly Pair[]; readonly body: Bytes };
  /** The statements, each once. */
  readonly texts: readonly string[];
  /** In the order in which they were asked for. */
  readonly steps: readonly Step[];
  /** Where values were replaced: `header cookie`, `column password`. */
  readonly replaced: readonly string[];
  /** What they were replaced by. */
  readonly standIns: readonly string[];
  /** What is missing, in words. */
  readonly leftOut: readonly string[];
}

const MOST_STEPS = 5000;
/** Of a step without its data. */
const STEP_BYTES = 100;
/** Shorter ones are in the code, and as a reference take nothing. */
const LONG_TEXT = 1000;

export interface Arrived {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
}

/** A step while its request is open. All steps have one shape: they are made on the path of each statement. */
export class OpenStep {
  settled: number | undefined = undefined;
  done = 0;
  columns: readonly string[] | undefined = undefined;
  rows: readonly (readonly unknown[])[] | undefined = undefined;
  rowCount: number | null = null;
  command: string | undefined = undefined;
  insertId: number | undefined = undefined;
  fields: Step['fields'] = undefined;
  outside: boolean | undefined = undefined;
  isLost = false;
  lostBecause: unknown = undefined;
  hasFailed = false;
  error: unknown = undefined;
  value: unknown = undefined;
  isLeftOut = false;
  call: OpenCall | undefined = undefined;

  constructor(
    readonly kind: Step['kind'],
    readonly at: number,
    readonly asked: number,
    readonly name: string | undefined,
    readonly wire: number | undefined,
    readonly sql: string | undefined,
    public params: readonly unknown[] | undefined,
  ) {}
}

/** A request to another server; its bodies are kept while they pass. */
export interface OpenCall {
  readonly url: string;
  readonly body?: Kept;
  status?: number;
  headers?: readonly Pair[];
  response?: Kept;
}

/** The recording of a request in progress. It keeps copies of values, no more of them than its limit allows, and makes JSON of nothing. */
export class OpenRecording {
  readonly arrived: Arrived;
  readonly arrivedAt = Date.now();
  readonly steps: OpenStep[] = [];
  readonly leftOut: string[] = [];
  body: Kept | undefined = undefined;
  response: Kept | undefined = undefined;
  responseHeaders: readonly Pair[] = [];
  error: Failure | undefined = undefined;
  wires = 0;
  isSynchronous = false;
  isOver = false;
  readonly #start = performance.now();
  #left: number;
  #ticks = 0;

  constructor(arrived: Arrived, maxBytes: number) {
    this.arrived = arrived;
    this.#left = maxBytes;
  }

  get milliseconds(): number {
    return performance.now() - this.#start;
  }

  /** Undefined once the request has completed, or has had too many steps. */
  begin(
    kind: Step['kind'],
    { name, wire, sql, params }: { name?: string; wire?: number; sql?: string; params?: readonly unknown[] },
  ): OpenStep | undefined {
    if (this.isOver) return undefined;
    if (this.steps.length >= MOST_STEPS) {
      this.note(`what came after step ${MOST_STEPS}`);
      return undefined;
    }
    const copy = params && params.length > 0 ? params.map(copyOf) : params;
    const step = new OpenStep(kind, this.milliseconds, (this.#ticks += 1), name, wire, sql, copy);
    this.steps.push(step);
    const size =
      STEP_BYTES + (sql !== undefined && sql.length > LONG_TEXT ? sql.length : 0) + (copy ? sizeOf(copy) : 0);
    if (!this.has(size)) {
      this.leaveOut(step);
      step.params = undefined;
    }
    return step;
  }

  /** Returns whether its outcome is kept. */
  settle(step: OpenStep | undefined): step is OpenStep {
    if (!step || this.isOver) return false;
    step.settled = this.#ticks += 1;
    step.done = this.milliseconds;
    return !step.isLeftOut;
  }

  fail(step: OpenStep | undefined, error: unknown): void {
    if (!this.settle(step)) return;
    step.hasFailed = true;
    step.error = error;
  }

  failed(error: unknown): void {
    this.error ??= failureOf(error);
  }

  /** Takes so many bytes of what is left; false where there are not as many. */
  has(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  note(what: string): void {
    if (!this.leftOut.includes(what)) this.leftOut.push(what);
  }

  leaveOut(step: OpenStep): void {
    step.isLeftOut = true;
    step.rows = undefined;
    this.note(`the data of step ${this.steps.indexOf(step) + 1} and of others as large`);
  }

  /** As it is kept, before anything in it is replaced. */
  toRecording(id: string, outcome: Outcome, withResponse: boolean): Recording {
    const { method, url, rawHeaders } = this.arrived;
    const headers = rawHeaders.flatMap((name, i): Pair[] => (i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? '']] : []));
    const texts = [...new Set(this.steps.flatMap(({ sql }) => sql ?? []))];
    return {
      format: 1,
      id,
      arrivedAt: new Date(this.arrivedAt).toISOString(),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      isSynchronous: this.isSynchronous,
      request: { method, url, headers, ...(this.body && !this.body.isEmpty && { body: this.body.bytes }) },
      outcome,
      ...(withResponse && { response: { headers: this.responseHeaders, body: this.response?.bytes ?? {} } }),
      texts,
      steps: this.steps.map((step) => closed(step, texts)),
      replaced: [],
      standIns: [],
      leftOut: this.leftOut,
    };
  }
}

/** Most parameters need no copy. */
function copyOf(value: unknown): unknown {
  return typeof value === 'string' || typeof value === 'boolean' || value === null ? value : packed(value);
}

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

function closed(step: OpenStep, texts: readonly string[]): Step {
  const {
    at,
    sql,
    settled,
    done,
    hasFailed,
    error,
    isLost,
    lostBecause,
    isLeftOut,
    command,
    rowCount,
    call,
    ...others
  } = step;
  return {
    ...others,
    at: rounded(at),
    ...(sql !== undefined && { sql: texts.indexOf(sql) }),
    ...(settled !== undefined && { settled, took: rounded(done - at) }),
    ...(hasFailed && { error: packedError(error) }),
    ...(isLost && { isLost, lostBecause: packedError(lostBecause) }),
    ...(isLeftOut && { leftOut: true }),
    ...(command !== undefined && { command, rowCount }),
    ...(call && { ...call, body: call.body?.bytes, response: call.response?.bytes }),
  } as Step;
}

/** The chunks of a body, as far as there is space for them. */
export class Kept {
  readonly #chunks: Uint8Array[] = [];
  readonly #recording: OpenRecording;
  readonly #name: string;
  #isCut = false;

  constructor(recording: OpenRecording, name: string) {
    this.#recording = recording;
    this.#name = name;
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  get bytes(): Bytes {
    return packedBytes(this.#chunks);
  }

  readonly add = (chunk: unknown, encoding?: unknown): void => {
    if (this.#isCut || this.#recording.isOver) return;
    const asText = typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8';
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    if (this.#recording.has(chunk.length * 1.4)) this.#chunks.push(Buffer.from(chunk as string, asText));
    else {
      this.#isCut = true;
      this.#recording.note(`the rest of ${this.#name}`);
    }
  };
}

export function failureOf(error: unknown): Failure {
  const { name, message, code, stack } = Object(error) as Record<string, unknown>;
  const line = typeof stack === 'string' ? lineOf(stack) : undefined;
  return {
    name: typeof name === 'string' ? name : typeof error,
    message: typeof message === 'string' ? message : String(error),
    ...(typeof code === 'string' && { code }),
    ...(line !== undefined && { line }),
  };
}

/** The error of a driver, or of ours, as JSON: what a `Language` translates is kept. */
function packedError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { thrown: packed(error) };
  const { name, message, cause } = error;
  const own = Object.entries(error).filter(([key, value]) => key !== 'cause' && typeof value !== 'object');
  const isOurs = error instanceof TransactionError;
  return {
    name,
    message,
    ...(isOurs && { isOurs }),
    own: packed(Object.fromEntries(own)),
    ...(cause !== undefined && depth < 5 && { cause: packedError(cause, depth + 1) }),
  };
}

interface PackedError {
  readonly thrown?: unknown;
  readonly name: string;
  readonly message: string;
  readonly isOurs?: true;
  readonly own: unknown;
  readonly cause?: unknown;
}

export function unpackedError(data: unknown): unknown {
  const { thrown, name, message, isOurs, own, cause } = data as PackedError;
  if (thrown !== undefined) return unpacked(thrown);
  const fields = unpacked(own) as Readonly<Record<string, unknown>>;
  const behind = cause === undefined ? {} : { cause: unpackedError(cause) };
  if (!isOurs) {
    const error = Object.assign(new Error(message, behind), fields);
    return Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  }
  const { code, sqlState } = fields as { code: TransactionErrorCode; sqlState?: string };
  const error = new TransactionError(code, '', { ...behind, ...(sqlState !== undefined && { sqlState }) });
  return Object.defineProperty(error, 'message', { value: message });
}
