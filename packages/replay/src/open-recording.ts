import { type Bytes, copyOf, ownCopies, packed, packedBytes, sizeOf } from './data.js';
import { failureOf, packedError } from './errors.js';
import type { Failure, Outcome, Pair, Recording, Step } from './recording.js';

/** Memory of a step without its data. */
const STEP_BYTES = 250;
/** Texts up to this length stay in the recording itself: a reference would save nothing. */
const LONG_TEXT = 1000;

export interface Arrived {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
}

export class OpenStep {
  settled: number | undefined = undefined;
  done = 0;
  failure: { readonly error: unknown } | undefined = undefined;
  isLeftOut = false;
  statement: OpenStatement | undefined = undefined;
  call: OpenCall | undefined = undefined;
  /** One after the other from the same source. */
  randomValues: unknown[] | undefined = undefined;

  constructor(
    readonly kind: Step['kind'],
    readonly name: string | undefined,
    readonly at: number,
    readonly asked: number,
  ) {}
}

/** All have one shape, because they are made on the path of each statement. */
class OpenStatement {
  columns: readonly string[] | undefined = undefined;
  rows: readonly (readonly unknown[])[] | undefined = undefined;
  rowCount: number | null = null;
  command: string | undefined = undefined;
  insertId: number | undefined = undefined;
  fields: Step['fields'] = undefined;
  outside: boolean | undefined = undefined;
  lost: { readonly because: unknown } | undefined = undefined;

  constructor(
    readonly sql: string,
    readonly wire: number | undefined,
    readonly params: readonly unknown[] | undefined,
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
  /** The request as its host knows it. */
  readonly request: object;
  readonly arrived: Arrived;
  readonly arrivedAt = Date.now();
  readonly steps: OpenStep[] = [];
  readonly leftOut: string[] = [];
  body: Kept | undefined = undefined;
  response: Kept | undefined = undefined;
  responseHeaders: readonly Pair[] = [];
  error: Failure | undefined = undefined;
  wires = 0;
  /** The number of steps that have begun, each random value for one. */
  begun = 0;
  isSynchronous = false;
  isOver = false;
  readonly #start = performance.now();
  #left: number;
  #ticks = 0;

  constructor(request: object, arrived: Arrived, maxBytes: number) {
    this.request = request;
    this.arrived = arrived;
    this.#left = maxBytes;
  }

  get milliseconds(): number {
    return performance.now() - this.#start;
  }

  /** Undefined once the request has completed, or has had too many steps. */
  begin(kind: Step['kind'], name?: string): OpenStep | undefined {
    if (this.isOver) return undefined;
    this.begun += 1;
    if (!this.has(STEP_BYTES)) {
      this.note(`what came after step ${this.#asked.length}`);
      return undefined;
    }
    const step = new OpenStep(kind, name, this.milliseconds, (this.#ticks += 1));
    this.steps.push(step);
    return step;
  }

  beginStatement(sql: string, params: readonly unknown[] | undefined, wire?: number): OpenStep | undefined {
    const step = this.begin('statement');
    if (!step) return undefined;
    const copies = params?.slice();
    const size = (sql.length > LONG_TEXT ? sql.length : 0) + (copies ? ownCopies(copies) : 0);
    const isKept = size === 0 || this.has(size);
    step.statement = new OpenStatement(sql, wire, isKept ? copies : undefined);
    if (!isKept) this.leaveOut(step);
    return step;
  }

  addRandom(source: string, value: unknown): void {
    const last = this.steps.at(-1);
    const isSame = last?.randomValues && last.name === source && !this.isOver;
    const step = isSame ? last : this.begin('random', source);
    if (!step) return;
    if (isSame) this.begun += 1;
    else this.settle(step);
    step.randomValues ??= [];
    // A number has up to 20 digits in JSON.
    if (this.has(16 + sizeOf(value))) step.randomValues.push(copyOf(value));
    else this.note(`what came after step ${this.#asked.length}`);
  }

  /** Statements and calls, as messages number them. */
  get #asked(): OpenStep[] {
    return this.steps.filter(({ kind }) => kind === 'statement' || kind === 'call');
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
    step.failure = { error };
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
    this.note(`the data of step ${this.#asked.indexOf(step) + 1} and of others as large`);
  }

  /** The recording before anything in it is replaced. */
  toRecording(id: string, outcome: Outcome, withResponse: boolean): Recording {
    const { method, url, rawHeaders } = this.arrived;
    const headers = rawHeaders.flatMap((name, i): Pair[] => (i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? '']] : []));
    const texts = [...new Set(this.steps.flatMap(({ statement }) => statement?.sql ?? []))];
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

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

function closed(step: OpenStep, texts: readonly string[]): Step {
  const { kind, name, at, asked, settled, done, failure, isLeftOut, statement, call, randomValues } = step;
  const common = {
    kind,
    ...(name !== undefined && { name }),
    at: rounded(at),
    asked,
    ...(settled !== undefined && { settled, took: rounded(done - at) }),
    ...(failure && { error: packedError(failure.error) }),
    ...(isLeftOut && { leftOut: true as const }),
  };
  if (randomValues) return { ...common, values: randomValues.map((value) => packed(value)) };
  if (call) return { ...common, ...call, body: call.body?.bytes, response: call.response?.bytes } as Step;
  return statement ? { ...common, ...closedStatement(statement, texts) } : common;
}

function closedStatement(statement: OpenStatement, texts: readonly string[]): object {
  const { sql, wire, params, columns, rows, rowCount, command, insertId, fields = [], outside, lost } = statement;
  return {
    wire,
    sql: texts.indexOf(sql),
    ...(params && { params: packed(params) }),
    ...(command !== undefined && { command, rowCount, insertId, columns }),
    ...(rows && { rows: packed(rows) }),
    ...(fields.length > 0 && { fields: fields.map((field) => ({ name: field.name, dataTypeID: field.dataTypeID })) }),
    outside,
    ...(lost && { isLost: true, lostBecause: packedError(lost.because) }),
  };
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

  add(chunk: unknown, encoding?: unknown): void {
    if (this.#isCut || this.#recording.isOver) return;
    const asText = typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8';
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    if (this.#recording.has(chunk.length * 1.4)) this.#chunks.push(Buffer.from(chunk as string, asText));
    else {
      this.#isCut = true;
      this.#recording.note(`the rest of ${this.#name}`);
    }
  }
}
