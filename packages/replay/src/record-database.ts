import type { ExecuteOptions, ExecuteResult } from '@ambit/transaction';
import type { Driver, Wire } from '@ambit/transaction/extension';
import { packed, sizeOf } from './data.js';
import { type OpenRecording, packedError, type Step } from './recording.js';

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
      recording.settle(recording.begin({ kind: 'connect' }), { error: packedError(error) });
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
      const step = recording.begin({ kind: 'statement' }, statement.sql, statement.params ?? []);
      settle(recording, step, result);
    };
    if (!(running instanceof Promise)) note(running);
    else running.then(note, () => undefined);
    return running;
  };
  return like(driver, { connect, alone });
}

/** The rows are copied, because the application may change them. */
function settle(recording: OpenRecording, step: Step | undefined, result: Result, state: Partial<Step> = {}): void {
  if (!step || recording.isOver) return;
  const { rows, rowCount, command, insertId, fields } = result as ExecuteResult<Readonly<Record<string, unknown>>>;
  const [first] = rows ?? [];
  const columns = first && !Array.isArray(first) ? Object.keys(first) : undefined;
  let size = columns ? sizeOf(columns) : 0;
  const copies: unknown[][] = [];
  for (const row of rows ?? []) {
    const copy = Object.values(row).map((cell) =>
      typeof cell === 'object' || typeof cell === 'bigint' ? packed(cell) : cell,
    );
    size += sizeOf(copy);
    copies.push(copy);
    if (size > MOST) break;
  }
  recording.settle(
    step,
    {
      ...state,
      ...(columns && { columns }),
      rows: copies,
      rowCount: rowCount ?? null,
      command,
      ...(insertId !== undefined && { insertId }),
      ...(fields && fields.length > 0 && { fields: fields.map(fieldOf) }),
    },
    size,
  );
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
  #last: Step | undefined = undefined;

  constructor(wire: Wire, recording: OpenRecording) {
    this.#wire = wire;
    this.#recording = recording;
    this.#number = recording.wires += 1;
    this.synchronous = wire.synchronous ?? false;
    recording.isSynchronous ||= this.synchronous;
  }

  get isLost(): boolean {
    const { isLost } = this.#wire;
    if (isLost && this.#last && !this.#recording.isOver) this.#last.isLost = true;
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
    const step = (this.#last = this.#recording.begin({ kind: 'statement', wire: this.#number }, sql, params));
    const succeeded = (result: Result): void => settle(this.#recording, step, result, this.#state());
    const failed = (error: unknown): void =>
      this.#recording.settle(step, { error: packedError(error), ...this.#state() });
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

  #state(): Partial<Step> {
    const { outsideTransaction, isLost } = this.#wire;
    return {
      ...(outsideTransaction !== undefined && { outside: outsideTransaction }),
      ...(isLost && { isLost: true as const }),
    };
  }
}
