import { type ExecuteOptions, type ExecuteResult, TransactionError } from '@ambit/transaction';
import { type Driver, inFrontOfDrivers, type Wire } from '@ambit/transaction/extension';
import { unpacked } from '../data.js';
import { unpackedError } from '../errors.js';
import { replays } from '../in-progress.js';
import { like, rawOf } from '../record-database.js';
import type { Step } from '../recording.js';
import type { Replaying } from './replaying.js';
import { isControl, Line, shown } from './statements.js';

type Result = ExecuteResult<never>;

const nothing = (sql: string): Result => {
  const [command = ''] = /\w+/.exec(sql) ?? [];
  return { rows: [], rowCount: isControl(sql) ? null : 0, command: command.toUpperCase(), fields: [] };
};

type Current = () => Replaying | undefined;

const fronts = new WeakMap<Driver, Driver>();
/** Drivers of pools that were made or used during a replay: a timer of the application may use them long after it. */
const taken = new WeakSet<Driver>();
let current: Current = () => undefined;
let isInFront = false;

/** From now on pools that are made or used connect to no database. The function returned ends that for pools that are made or used later. */
export function takePools(ofRequest: Current = () => undefined): () => void {
  if (!isInFront) inFrontOfDrivers(inFrontOf);
  isInFront = true;
  const before = current;
  current = ofRequest;
  replays.inProgress += 1;
  return () => {
    replays.inProgress -= 1;
    current = before;
  };
}

function inFrontOf(driver: Driver): Driver {
  const raw = rawOf(driver);
  if (replays.inProgress > 0) taken.add(raw);
  if (!taken.has(raw)) return driver;
  let front = fronts.get(driver);
  if (!front) fronts.set(driver, (front = withoutDatabase(driver)));
  return front;
}

function withoutDatabase(driver: Driver): Driver {
  const connect: Driver['connect'] = () => {
    if (replays.inProgress === 0)
      throw new TransactionError(
        'AMBIT_TX_POOL_CLOSED',
        'replay() has used this pool, which reaches no database in this process any more: make another one',
      );
    const replaying = current();
    return replaying ? new ReplayedWire(replaying) : BESIDE;
  };
  if (!driver.alone) return like(driver, { connect });
  const alone: Driver['alone'] = ({ sql, params = [], options }) => {
    const replaying = current();
    const step = replaying?.statements.takeAlone(replaying.statements.wanted(sql, params));
    if (!replaying || !step) return undefined;
    replaying.begins(step);
    return outcomeOf(replaying, step, options);
  };
  return like(driver, { connect, alone });
}

/** TypeORM reads these when it starts. */
const OF_SERVER = { version: 'PostgreSQL 17.0', current_database: 'replay', current_schema: 'public' };

/** Code that runs beside the request, at start or in a timer, finds no rows. */
const BESIDE: Wire = {
  isLost: false,
  send: (sql) => {
    const [, name = ''] = /^SELECT (?:\* FROM )?(\w+)\(\)$/.exec(sql) ?? [];
    return name in OF_SERVER ? { ...nothing(sql), rows: [OF_SERVER as never], rowCount: 1 } : nothing(sql);
  },
  release: () => undefined,
};

function outcomeOf(replaying: Replaying, step: Step, options: ExecuteOptions | undefined): Result {
  if (step.settled === undefined) return nothing(replaying.statements.textOf(step));
  if (step.leftOut) {
    const number = replaying.statements.numberOf(step);
    throw replaying.diverged(`step ${number}: its rows are not in the recording, which has no more than maxBytes`);
  }
  const { bindings } = replaying.statements;
  if (step.error !== undefined) {
    bindings.see(step.error);
    throw unpackedError(step.error);
  }
  const { columns, rows = [], rowCount = null, command = '', insertId, fields = [] } = step;
  bindings.see(rows);
  const asArrays = options?.rowMode === 'array' || !columns;
  const given = rows.map((row) => {
    const cells = row.map((cell) => bindings.given(unpacked(cell)));
    return asArrays ? cells : Object.fromEntries(columns.map((name, i) => [name, cells[i]]));
  });
  return {
    rows: given as never[],
    rowCount,
    command,
    fields,
    ...(insertId !== undefined && { insertId }),
  };
}

class ReplayedWire extends Line implements Wire {
  readonly synchronous: boolean;
  readonly #replaying: Replaying;
  lostBecause: unknown = undefined;
  #hasBegun = false;

  constructor(replaying: Replaying) {
    super();
    this.synchronous = replaying.recording.isSynchronous;
    this.#replaying = replaying;
  }

  get outsideTransaction(): boolean {
    return this.outside as boolean;
  }

  send(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Result | Promise<Result> {
    const { statements } = this.#replaying;
    if (isControl(sql)) this.#hasBegun = !/^(?:commit|rollback(?! to))\b/i.test(sql);
    const step = statements.take(this, statements.wanted(sql, params));
    if (!step) return this.#unknown(sql, params, options);
    this.#replaying.begins(step);
    const settle = (): Result => {
      // The recorded statement may have been outside of a transaction, and this one be in one that the recording does not have.
      const isOutside = step.outside && (isControl(sql) || step.error !== undefined || !this.#hasBegun);
      this.outside = step.outside === undefined ? undefined : isOutside;
      this.isLost = step.isLost ?? false;
      this.lostBecause = step.isLost && unpackedError(step.lostBecause);
      return outcomeOf(this.#replaying, step, options);
    };
    return this.synchronous ? settle() : this.#replaying.later(step, settle);
  }

  release(): void {}

  /** A corrected handler commits where it rolled back. A statement that returns no rows needs no guess. */
  #unknown(sql: string, params: readonly unknown[] | undefined, options: ExecuteOptions = {}): Result {
    const { statements, beyond } = this.#replaying;
    const next = statements.nextOf(this);
    if (isControl(sql)) {
      if (/^(?:commit|release)\b/i.test(sql)) statements.isChanged = true;
      if (next && isControl(statements.textOf(next)) && this.wire !== undefined) statements.pass(this, next);
      beyond.push(sql);
      if (this.outside !== undefined) this.outside = !this.#hasBegun;
      return nothing(sql);
    }
    const given = this.#replaying.given(sql, params ?? []);
    if (given !== undefined) {
      const rows = typeof given === 'number' ? [] : given;
      const wantsArrays = options.rowMode === 'array';
      if (rows.some((row) => Array.isArray(row) !== wantsArrays))
        throw this.#replaying.diverged(
          `beyond() has to give ${wantsArrays ? 'arrays, with the cells in the order of the columns,' : 'objects'} for ${shown(sql)}`,
        );
      statements.isChanged = true;
      beyond.push(shown(sql));
      return { ...nothing(sql), rows: rows as never[], rowCount: typeof given === 'number' ? given : rows.length };
    }
    const at = next ?? statements.nextOf(undefined);
    throw this.#replaying.diverged(statements.difference(shown(sql), sql, params, at));
  }
}
