import { writeSync, writevSync } from 'node:fs';
import { recordLine } from '@ambit/inspector';
import { type DestinationStream, levels, pino } from 'pino';
import type { Config } from '../config/config.js';
import type { IRequestContext } from '../ids.js';

let second = NaN;
let start = '';

/** The result of `new Date().toISOString()`, which is slow: all but the milliseconds is formatted once a second. */
export function isoNow(): string {
  const now = Date.now();
  const ms = now % 1000;
  if (now - ms !== second) {
    second = now - ms;
    start = new Date(second).toISOString().slice(0, -'000Z'.length);
  }
  return `${start}${String(ms).padStart(3, '0')}Z`;
}

const STDOUT = 1;
/** How much of the log waits in memory while stdout is blocked. Further lines are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const MAX_LINES_PER_WRITE = 256;
const RETRY_MS = 10;
/** How long an exit waits for a slow reader: in total, and while it reads nothing. */
const EXIT_FLUSH_MS = 2000;
const EXIT_NO_READ_MS = 250;

/**
 * Writes the log to stdout. A line is written before `write()` returns, so that an audit record survives a crash of the
 * process. While stdout is blocked (nobody reads the pipe, the disk is full), lines wait in memory and are written later;
 * when too many wait, further ones are dropped and counted. `write()` never blocks on a pipe and never throws.
 */
export class LogOutput {
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  /** Dropped lines that the log does not report yet. Until it does, all lines are dropped, so that the log has one gap. */
  #unreported = 0;
  #error: unknown;

  constructor() {
    // Node makes a pipe non-blocking when `process.stdout` is first used: a write to a full pipe then fails with EAGAIN.
    void process.stdout;
  }

  /** How many lines have been dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    if (this.#waiting.length > 0) return this.#keepOrDrop(Buffer.from(line));
    let written = 0;
    try {
      written = writeSync(STDOUT, line);
      if (written === Buffer.byteLength(line)) return;
    } catch (error) {
      this.#error = error;
    }
    this.#keepOrDrop(Buffer.from(line).subarray(written));
    process.on('exit', this.#flushAtExit);
    const retry = setInterval(() => {
      if (!this.#flush()) return;
      clearInterval(retry);
      process.off('exit', this.#flushAtExit);
    }, RETRY_MS).unref();
  }

  #keepOrDrop(bytes: Buffer): void {
    if (this.#unreported > 0 || this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#dropped += 1;
      this.#unreported += 1;
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  readonly #flushAtExit = (): void => {
    const end = Date.now() + EXIT_FLUSH_MS;
    const never = new Int32Array(new SharedArrayBuffer(4));
    let readAt = Date.now();
    for (let before = this.#waitingBytes; !this.#flush(); before = this.#waitingBytes) {
      if (this.#waitingBytes < before) readAt = Date.now();
      if (Date.now() > Math.min(end, readAt + EXIT_NO_READ_MS)) return;
      Atomics.wait(never, 0, 0, 1);
    }
  };

  /** Writes the waiting lines; false when some are left. */
  #flush(): boolean {
    while (this.#waiting.length > 0) {
      try {
        this.#removeWritten(writevSync(STDOUT, this.#waiting.slice(0, MAX_LINES_PER_WRITE)));
      } catch (error) {
        this.#error = error;
        return false;
      }
      if (this.#waiting.length === 0 && this.#unreported > 0) this.#reportDropped();
    }
    return true;
  }

  #removeWritten(bytes: number): void {
    this.#waitingBytes -= bytes;
    let left = bytes;
    const isWhole = (line: Buffer): boolean => (left -= line.length) >= 0;
    const first = this.#waiting.findIndex((line) => !isWhole(line));
    const rest = this.#waiting[first];
    this.#waiting.splice(0, rest ? first : this.#waiting.length);
    if (rest) this.#waiting[0] = rest.subarray(rest.length + left);
  }

  #reportDropped(): void {
    const { code } = Object(this.#error) as NodeJS.ErrnoException;
    const report = { level: 40, time: isoNow(), msg: 'log lines were dropped', dropped: this.#unreported, code };
    this.#unreported = 0;
    this.#keepOrDrop(Buffer.from(`${JSON.stringify(report)}\n`));
  }
}

/** Registered as `ILogger`: one object per call. */
export interface ILogger {
  debug(record: object): void;
  info(record: object): void;
  warn(record: object): void;
  error(record: object): void;
}

/** Writes lines to stdout by default; `LogOutput` says what happens when stdout is blocked. */
export function createLogger(level: Config['logLevel'], destination: DestinationStream = new LogOutput()): ILogger {
  return pino({ level, base: null, timestamp: () => `,"time":"${isoNow()}"` }, destination);
}

/** Shows each line also in the inspector, at the request that wrote it. */
export function inspectedOutput(output: DestinationStream): DestinationStream {
  return {
    write(text) {
      const { level, type } = JSON.parse(text) as { readonly level: number; readonly type?: unknown };
      const source = type === 'audit' ? 'audit' : 'log';
      recordLine({ source, level: levels.labels[level] ?? String(level), text: text.trim() });
      output.write(text);
    },
  };
}

export interface IAuditLogger {
  log(action: string, data: object): Promise<void>;
}

/** Writes audit records, one for each call, into the log. */
export class AuditLogger implements IAuditLogger {
  constructor(
    private readonly logger: ILogger,
    private readonly context: IRequestContext,
  ) {}

  async log(action: string, data: object): Promise<void> {
    const { requestId, userId, trace } = this.context;
    const timestamp = isoNow();
    const fixed = { type: 'audit', action, timestamp };
    const caller = userId === undefined ? undefined : { userId };
    // The data of `user_created` has the new user's id as userId, which replaces the caller's, but never a fixed field.
    // The fixed fields are first as well, so that they begin the line. Object.assign is several times faster than spreads.
    this.logger.info(Object.assign({ type: 'audit', action, timestamp, requestId }, caller, trace, data, fixed));
  }
}
