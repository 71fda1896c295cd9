import { writeSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';
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
const RETRY_MS = 10;
/** How long an exit waits for a reader that reads nothing. */
const EXIT_FLUSH_MS = 1000;

/**
 * Writes the log to stdout. A line is written before `write()` returns, so that an audit record survives a crash of the
 * process. While stdout is blocked (nobody reads the pipe, the disk is full), lines wait in memory and are written later;
 * when too many wait, further ones are dropped and counted. `write()` never blocks on a pipe and never throws.
 */
export class LogOutput {
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;

  constructor() {
    // Node makes a pipe non-blocking when `process.stdout` is first used: a write to a full pipe then fails with EAGAIN.
    void process.stdout;
  }

  /** How many lines have been dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    const written = this.#waiting.length > 0 ? 0 : tryToWrite(line);
    if (written === Buffer.byteLength(line)) return;
    if (this.#waitingBytes > MAX_WAITING_BYTES) {
      this.#dropped += 1;
      return;
    }
    if (this.#waiting.length === 0) this.#retryLater();
    const bytes = Buffer.from(line).subarray(written);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #retryLater(): void {
    const droppedBefore = this.#dropped;
    process.on('exit', this.#flushAtExit);
    const retry = setInterval(() => {
      if (!this.#flush()) return;
      clearInterval(retry);
      process.off('exit', this.#flushAtExit);
      const dropped = this.#dropped - droppedBefore;
      const report = { level: 40, time: isoNow(), msg: 'log lines were dropped', dropped };
      if (dropped > 0) this.write(`${JSON.stringify(report)}\n`);
    }, RETRY_MS).unref();
  }

  /** Writes the waiting lines; false when some are left. */
  #flush(): boolean {
    for (let line = this.#waiting[0]; line; line = this.#waiting[0]) {
      const written = tryToWrite(line);
      this.#waitingBytes -= written;
      if (written < line.length) {
        this.#waiting[0] = line.subarray(written);
        return false;
      }
      this.#waiting.shift();
    }
    return true;
  }

  readonly #flushAtExit = (): void => {
    const never = new Int32Array(new SharedArrayBuffer(4));
    let end = Date.now() + EXIT_FLUSH_MS;
    for (let before = this.#waitingBytes; !this.#flush() && Date.now() < end; before = this.#waitingBytes) {
      if (this.#waitingBytes < before) end = Date.now() + EXIT_FLUSH_MS;
      Atomics.wait(never, 0, 0, 1);
    }
  };
}

/** Returns how many bytes were written: none where stdout is blocked. */
function tryToWrite(line: string | Buffer): number {
  try {
    return typeof line === 'string' ? writeSync(STDOUT, line) : writeSync(STDOUT, line);
  } catch {
    return 0;
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
