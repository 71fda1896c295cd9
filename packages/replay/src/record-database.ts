import type { ExecuteOptions, ExecuteResult } from '@ambit/transaction';
import type { Driver, Wire } from '@ambit/transaction/extension';
import { ownCopies, sizeOf } from './data.js';
import type { OpenRecording, OpenStep } from './open-recording.js';

type Result = ExecuteResult<never>;
type Current = () => OpenRecording | undefined;

/** The drivers of all pools, with what they do for a request that is recorded. */
export function recordDrivers(current: Current): (driver: Driver) => Driver {
  const recorded = new WeakMap<Driver, Driver>();
  return (driver) => {
    let front = recorded.get(driver);
    if (!front) recorded.set(driver, (front = inFrontOf(driver, current)));
    return front;
  };
}

const behind = new WeakMap<Driver, Driver>();

/** The driver of the application, whatever is in front of it. */
export const rawOf = (driver: Driver): Driver => behind.get(driver) ?? driver;

/** A driver that is as another one, but for the methods that give connections. */
export function like(driver: Driver, own: Pick<Driver, 'connect' | 'alone'>): Driver {
  const { language, max, maxReaders, name } = driver;
  const front: Driver = {
    language,
    max,
    ...(maxReaders !== undefined && { maxReaders }),
    ...(name !== undefined && { name }),
    get size() {
      return driver.size as never;
    },
    ...(driver.noConnection && { noConnection: driver.noConnection.bind(driver) }),
    close: (ms) => driver.close(ms),
    ...own,
  };
  behind.set(front, rawOf(driver));
  return front;
}

function inFrontOf(driver: Driver, current: Current): Driver {
  const connect: Driver['connect'] = (options) => {
    const recording = current();
    if (!recording || recording.isOver) return driver.connect(options);
    const connected = driver.connect(options);
    if (!(connected instanceof Promise)) return new RecordedWire(connected, recording);
    return connected.then(
      (wire) => new RecordedWire(wire, recording),
      (error: unknown) => {
        recording.note('a connection that the database refused');
        throw error;
      },
    );
  };
  if (!driver.alone) return like(driver, { connect });
  const alone: Driver['alone'] = (statement, isFree) => {
    const recording = current();
    const running = driver.alone?.(statement, isFree);
    if (!recording || recording.isOver) return running;
    // It is known only now whether the statement needs a connection; then it is recorded there.
    const note = (result: Result | undefined): void => {
      if (!result) return;
      settle(recording, recording.beginStatement(statement.sql, statement.params ?? []), result);
    };
    if (!(running instanceof Promise)) note(running);
    else running.then(note, () => undefined);
    return running;
  };
  return like(driver, { connect, alone });
}

/** The rows are copied, because the application may change them. */
function settle(recording: OpenRecording, step: OpenStep | undefined, result: Result): void {
  if (!recording.settle(step) || !step.statement) return;
  const { statement } = step;
  const { rows = [], fields } = result as Partial<ExecuteResult<Readonly<Record<string, unknown>>>>;
  const [first] = rows;
  statement.columns = first && !Array.isArray(first) ? Object.keys(first) : undefined;
  statement.rowCount = result.rowCount ?? null;
  statement.command = result.command;
  statement.insertId = result.insertId;
  statement.fields = fields;
  let size = sizeOf(statement.columns);
  const copies: unknown[][] = [];
  for (const row of rows) {
    const copy = Object.values(row);
    size += ownCopies(copy);
    copies.push(copy);
    if (size > MOST) break;
  }
  if (recording.has(size)) statement.rows = copies;
  else recording.leaveOut(step);
}

/** More rows are in no recording. */
const MOST = 2 ** 24;

class RecordedWire implements Wire {
  readonly synchronous: boolean;
  readonly #wire: Wire;
  readonly #recording: OpenRecording;
  readonly #number: number;
  #last: OpenStep | undefined = undefined;

  constructor(wire: Wire, recording: OpenRecording) {
    this.#wire = wire;
    this.#recording = recording;
    this.#number = recording.wires += 1;
    this.synchronous = wire.synchronous ?? false;
    recording.isSynchronous ||= this.synchronous;
  }

  get isLost(): boolean {
    const { isLost } = this.#wire;
    if (isLost) this.#note(this.#last);
    return isLost;
  }

  get lostBecause(): unknown {
    return this.#wire.lostBecause;
  }

  get outsideTransaction(): boolean {
    return this.#wire.outsideTransaction as boolean;
  }

  get isLeftOpen(): boolean {
    return this.#wire.isLeftOpen ?? false;
  }

  send(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Result | Promise<Result> {
    const step = (this.#last = this.#recording.beginStatement(sql, params, this.#number));
    const succeeded = (result: Result): void => {
      this.#note(step);
      settle(this.#recording, step, result);
    };
    const failed = (error: unknown): void => {
      this.#note(step);
      this.#recording.fail(step, error);
    };
    try {
      const sent = this.#wire.send(sql, params, options);
      // The result is not chained, so that the caller awaits no further promise.
      if (sent instanceof Promise) sent.then(succeeded, failed);
      else succeeded(sent);
      return sent;
    } catch (error) {
      failed(error);
      throw error;
    }
  }

  cancel(): void {
    this.#wire.cancel?.();
  }

  release(possiblyBroken: boolean): void | Promise<void> {
    return this.#wire.release(possiblyBroken);
  }

  #note(step: OpenStep | undefined): void {
    if (!step?.statement || this.#recording.isOver) return;
    step.statement.outside = this.#wire.outsideTransaction;
    if (this.#wire.isLost) step.statement.lost = { because: this.#wire.lostBecause };
  }
}
