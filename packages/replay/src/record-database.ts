import type { ExecuteOptions, ExecuteResult } from '@ambit/transaction';
import type { Driver, Wire } from '@ambit/transaction/extension';
import { packed, sizeOf } from './data.js';
import type { OpenRecording, OpenStep } from './recording.js';

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

/** A driver that is as another one, but for the methods that give connections. */
export function like(driver: Driver, own: Pick<Driver, 'connect' | 'alone'>): Driver {
  const { language, max, maxReaders, name } = driver;
  return {
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
}

function inFrontOf(driver: Driver, current: Current): Driver {
  const connect: Driver['connect'] = (options) => {
    const recording = current();
    if (!recording || recording.isOver) return driver.connect(options);
    const refused = (error: unknown): never => {
      recording.fail(recording.begin('connect', {}), error);
      throw error;
    };
    try {
      const connected = driver.connect(options);
      if (!(connected instanceof Promise)) return new RecordedWire(connected, recording);
      return connected.then((wire) => new RecordedWire(wire, recording), refused);
    } catch (error) {
      return refused(error);
    }
  };
  if (!driver.alone) return like(driver, { connect });
  const alone: Driver['alone'] = (statement, isFree) => {
    const recording = current();
    const running = driver.alone?.(statement, isFree);
    if (!recording || recording.isOver) return running;
    // It is known only now whether the statement needs a connection; then it is recorded there.
    const note = (result: Result | undefined): void => {
      if (!result) return;
      const { sql, params = [] } = statement;
      settle(recording, recording.begin('statement', { sql, params }), result);
    };
    if (!(running instanceof Promise)) note(running);
    else running.then(note, () => undefined);
    return running;
  };
  return like(driver, { connect, alone });
}

/** The rows are copied, because the application may change them. */
function settle(recording: OpenRecording, step: OpenStep | undefined, result: Result): void {
  if (!recording.settle(step)) return;
  const { rows = [], fields = [] } = result as Partial<ExecuteResult<Readonly<Record<string, unknown>>>>;
  const [first] = rows;
  const columns = first && !Array.isArray(first) ? Object.keys(first) : undefined;
  let size = columns ? sizeOf(columns) : 0;
  const copies: unknown[][] = [];
  for (const row of rows) {
    const copy = Object.values(row);
    for (let i = 0; i < copy.length; i += 1) {
      const cell = copy[i];
      if (typeof cell === 'string') size += cell.length + 2;
      else if (typeof cell !== 'object' || cell === null) size += 8;
      else {
        copy[i] = packed(cell);
        size += sizeOf(copy[i]);
      }
    }
    copies.push(copy);
    if (size > MOST) break;
  }
  step.rowCount = result.rowCount ?? null;
  step.command = result.command;
  step.insertId = result.insertId;
  if (!recording.has(size)) return recording.leaveOut(step);
  step.columns = columns;
  step.rows = copies;
  if (fields.length > 0) step.fields = fields.map(fieldOf);
}

/** More rows are in no recording. */
const MOST = 2 ** 24;

const fieldOf = ({ name, dataTypeID }: Result['fields'][number]): Result['fields'][number] =>
  dataTypeID === undefined ? { name } : { name, dataTypeID };

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
    const step = (this.#last = this.#recording.begin('statement', {
      wire: this.#number,
      sql,
      ...(params && { params }),
    }));
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
      // Not chained: a statement costs no further promise that somebody awaits.
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
    if (!step || this.#recording.isOver) return;
    const { outsideTransaction, isLost, lostBecause } = this.#wire;
    step.outside = outsideTransaction;
    step.isLost = isLost;
    step.lostBecause = lostBecause;
  }
}
