import type { ExecuteOptions, ExecuteResult } from '@ambit/transaction';
import type { Driver, Wire } from '@ambit/transaction/extension';
import { unpacked } from '../data.js';
import { like } from '../record-database.js';
import { type Step, unpackedError } from '../recording.js';
import type { Replaying } from './replaying.js';
import { isControl, Line, shown } from './statements.js';

type Result = ExecuteResult<never>;

/** Rows for a statement that the recording does not have, or how many rows it changed. */
export type Beyond = (sql: string, params: readonly unknown[]) => readonly object[] | number | undefined;

const nothing = (sql: string): Result => {
  const [command = ''] = /\w+/.exec(sql) ?? [];
  return { rows: [], rowCount: isControl(sql) ? null : 0, command: command.toUpperCase(), fields: [] };
};

/** The drivers of all pools, which connect to no database. */
export function replayDrivers(current: () => Replaying | undefined, beyond: Beyond): (driver: Driver) => Driver {
  const known = new WeakMap<Driver, Driver>();
  const frontOf = (driver: Driver): Driver => {
    const connect: Driver['connect'] = () => {
      const replaying = current();
      if (!replaying) return BESIDE;
      const refused = replaying.statements.takeRefusal();
      if (refused) throw unpackedError(refused.error);
      return new ReplayedWire(replaying, beyond);
    };
    if (!driver.alone) return like(driver, { connect });
    const alone: Driver['alone'] = ({ sql, params = [], options }) => {
      const replaying = current();
      if (!replaying) return nothing(sql);
      const step = replaying.statements.takeAlone(replaying.statements.wanted(sql, params));
      if (!step) return undefined;
      replaying.begins(step);
      return outcomeOf(replaying, step, options);
    };
    return like(driver, { connect, alone });
  };
  return (driver) => {
    let front = known.get(driver);
    if (!front) known.set(driver, (front = frontOf(driver)));
    return front;
  };
}

/** What runs beside the request, at start or in a timer, finds nothing. */
const BESIDE: Wire = {
  isLost: false,
  send: (sql) => nothing(sql),
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
  readonly #beyond: Beyond;
  lostBecause: unknown = undefined;
  #hasBegun = false;

  constructor(replaying: Replaying, beyond: Beyond) {
    super();
    this.synchronous = replaying.recording.isSynchronous;
    this.#replaying = replaying;
    this.#beyond = beyond;
  }

  get outsideTransaction(): boolean {
    return this.outside as boolean;
  }

  send(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Result | Promise<Result> {
    const { statements } = this.#replaying;
    if (isControl(sql)) this.#hasBegun = !/^(?:commit|rollback(?! to))\b/i.test(sql);
    const step = statements.take(this, statements.wanted(sql, params));
    if (!step) return this.#unknown(sql, params);
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

  /** What gives no rows says nothing that is not so: a handler that was corrected commits where it rolled back. */
  #unknown(sql: string, params: readonly unknown[] | undefined): Result | Promise<Result> {
    const { statements, beyond } = this.#replaying;
    const next = statements.nextOf(this);
    if (isControl(sql)) {
      if (/^(?:commit|release)\b/i.test(sql)) statements.isChanged = true;
      if (next && isControl(statements.textOf(next)) && this.candidates?.size) statements.pass(this, next);
      beyond.push(sql);
      if (this.outside !== undefined) this.outside = !this.#hasBegun;
      return nothing(sql);
    }
    const given = this.#beyond(sql, params ?? []);
    if (given !== undefined) {
      statements.isChanged = true;
      beyond.push(shown(sql));
      const rows = typeof given === 'number' ? [] : given;
      return { ...nothing(sql), rows: rows as never[], rowCount: typeof given === 'number' ? given : rows.length };
    }
    const at = next ?? statements.nextOf(undefined);
    throw this.#replaying.diverged(statements.difference(shown(sql), sql, params, at));
  }
}
