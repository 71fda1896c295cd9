import { writeSync, writevSync } from 'node:fs';
import { recordLine } from '@ambit/inspector';
import { type DestinationStream, levels, pino } from 'pino';
import type { Config } from '../config/config.js';
import type { IRequestContext } from '../ids.js';

/** Formats all but the milliseconds once a second, because `toISOString()` is slow. */
class IsoClock {
  #second = NaN;
  #start = '';

  now(): string {
    const now = Date.now();
    const ms = now % 1000;
    if (now - ms !== this.#second) {
      this.#second = now - ms;
      this.#start = new Date(this.#second).toISOString().slice(0, -'000Z'.length);
    }
    return `${this.#start}${String(ms).padStart(3, '0')}Z`;
  }
}

/** All who ask within a second share what was formatted. */
const clock = new IsoClock();

/** The result of `new Date().toISOString()`. */
export const isoNow = (): string => clock.now();

/** The time as a field within a line of JSON, the form in which pino expects it. */
const timeField = (): string => `,"time":"${isoNow()}"`;

const STDOUT = 1;
/** How much of the log waits in memory while stdout is blocked. Further lines are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const MAX_LINES_PER_WRITE = 256;
const FIRST_RETRY_MS = 1;
const LAST_RETRY_MS = 100;
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
    this.#flushIn(FIRST_RETRY_MS);
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

  #flushIn(ms: number): void {
    const flush = (): void => {
      const before = this.#waitingBytes;
      if (this.#flush()) process.off('exit', this.#flushAtExit);
      else this.#flushIn(this.#waitingBytes < before ? FIRST_RETRY_MS : Math.min(2 * ms, LAST_RETRY_MS));
    };
    setTimeout(flush, ms).unref();
  }

  readonly #flushAtExit = (): void => {
    const start = Date.now();
    const never = new Int32Array(new SharedArrayBuffer(4));
    let readAt = start;
    let waitingBytes = this.#waitingBytes;
    while (!this.#flush() && Date.now() < Math.min(start + EXIT_FLUSH_MS, readAt + EXIT_NO_READ_MS)) {
      if (this.#waitingBytes < waitingBytes) readAt = Date.now();
      waitingBytes = this.#waitingBytes;
      Atomics.wait(never, 0, 0, FIRST_RETRY_MS);
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
    let lines = 0;
    let left = bytes;
    for (let line = this.#waiting[lines]; line && line.length <= left; line = this.#waiting[lines]) {
      left -= line.length;
      lines += 1;
    }
    this.#waiting.splice(0, lines);
    if (left > 0 && this.#waiting[0]) this.#waiting[0] = this.#waiting[0].subarray(left);
  }

  #reportDropped(): void {
    const { code } = (this.#error ?? {}) as NodeJS.ErrnoException;
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
  return pino({ level, base: null, timestamp: timeField }, destination);
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
