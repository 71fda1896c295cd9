import { TransactionError } from '@ambit/transaction';
import { unpacked } from '../data.js';
import { failureOf, lineOf } from '../errors.js';
import type { Failure, Recording, Step } from '../recording.js';
import { Statements } from './statements.js';

/** A replay does not wait for a step that took less. */
const LONG_MS = 50;

interface Pending {
  readonly step: Step;
  readonly since: number;
  readonly settle: () => void;
}

export type Beyond = (sql: string, params: readonly unknown[]) => readonly object[] | number | undefined;

/** One request that is replayed, and what of its recording it has used. */
export class Replaying {
  readonly recording: Recording;
  readonly statements: Statements;
  /** Rows, or how many were changed, for a statement that the recording does not have. */
  readonly given: Beyond;
  /** Statements that the recording knows nothing of, and that give no rows. */
  readonly beyond: string[] = [];
  divergence: string | undefined = undefined;
  error: Failure | undefined = undefined;
  begun = 0;
  /** The line that sent the last statement. */
  place: string | undefined = undefined;
  onStep: (() => void) | undefined = undefined;
  readonly #chance = new Map<string, { readonly at: number; readonly value: unknown }[]>();
  readonly #pending: Pending[] = [];
  /** Steps that were still in progress when the request completed. */
  readonly #late: (() => void)[] = [];
  isOver = false;
  #isArmed = false;
  #latest = 0;
  #reached = performance.now();

  constructor(recording: Recording, given: Beyond) {
    this.recording = recording;
    this.given = given;
    this.statements = new Statements(recording);
    for (const step of recording.steps) {
      const { name = '', at, values = [] } = step;
      const queue = this.#chance.get(name) ?? [];
      this.#chance.set(name, queue);
      for (const value of values) queue.push({ at, value });
    }
  }

  get isBusy(): boolean {
    return this.#pending.length > 0;
  }

  /** The time that the handler sees: that of the step that it has reached, and what has passed since. */
  now(): number {
    const passed = Date.parse(this.recording.arrivedAt) + this.#latest + (performance.now() - this.#reached);
    return Math.floor(passed);
  }

  /** The next value of a source, as recorded; undefined where there is none. */
  nextRandom(source: string): unknown {
    const step = this.#chance.get(source)?.shift();
    if (!step) return undefined;
    this.begins(step);
    return unpacked(step.value);
  }

  begins({ at }: Pick<Step, 'at'>): void {
    this.begun += 1;
    this.onStep?.();
    this.#reach(at);
  }

  /** Settles as the recorded step did: in the same order, and no sooner where it took long. */
  later<T>(step: Step, outcome: () => T): Promise<T> {
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#reach(step.at + (step.took ?? 0));
        resolve((async () => outcome())());
      };
      const isLate = step.settled === undefined && !this.isOver;
      if (isLate) this.#late.push(settle);
      else this.#pending.push({ step, since: performance.now(), settle });
      if (!isLate) this.#arm();
    });
  }

  /** The client has the response: what comes now is in no recording. */
  finish(): void {
    this.isOver = true;
    for (const settle of this.#late.splice(0)) settle();
  }

  failed(error: unknown): void {
    this.error ??= failureOf(error);
  }

  /** Keeps the first difference. The error is no reason for a retry. */
  diverged(what: string): TransactionError {
    const cause = new Error(what);
    const line = lineOf(cause.stack ?? '') ?? this.place;
    const found = line === undefined ? what : `${what}; asked at ${line}`;
    if (!this.isOver) this.divergence ??= found;
    cause.message = found;
    return new TransactionError('AMBIT_TX_STATEMENT_FAILED', `The replay has diverged: ${what}`, { cause });
  }

  #reach(at: number): void {
    const passed = this.#latest + (performance.now() - this.#reached);
    this.#latest = Math.max(at, passed);
    this.#reached = performance.now();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    const due = ({ step: { took = 0 }, since }: Pending): number =>
      took < LONG_MS ? 0 : since + took - performance.now();
    const wait = Math.min(...this.#pending.map(due));
    const next = (): void => {
      this.#isArmed = false;
      const ready = this.#pending.filter((one) => due(one) <= 0);
      const [first] = ready.toSorted((one, other) => (one.step.settled ?? 0) - (other.step.settled ?? 0));
      if (first) this.#pending.splice(this.#pending.indexOf(first), 1);
      first?.settle();
      if (this.#pending.length > 0) this.#arm();
    };
    if (wait > 0) setTimeout(next, wait);
    else setImmediate(next);
  }
}
