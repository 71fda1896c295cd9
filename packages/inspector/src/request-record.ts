import type { Lane, Outcome, RequestDetails, RequestSummary, Step, StepKind } from './wire.js';

/** What a host tells of a request. */
export interface Arrival {
  readonly method: string;
  /** As it was declared; unknown until the host has found it. */
  route(): string | undefined;
  /** The connection is gone: of pipelined requests, only the first hears of it. */
  lost(): boolean;
}

export type StepDetails = Partial<Pick<Step, 'error' | 'key' | 'lane' | 'sql' | 'took'>>;

/** The worst is what the list shows. */
const BY_BADNESS: readonly Outcome[] = ['committed', 'refused', 'rolled back', 'unknown'];
const MOST_STEPS = 500;
const MOST_LANES = 50;

/** One request, from its arrival to the end of its last scope. */
export class RequestRecord {
  readonly id: number;
  readonly #arrival: Arrival;
  readonly #start: number;
  readonly #arrived: number;
  readonly #steps: Step[] = [];
  readonly #lanes: { box: string; opened: number; ended?: number; where?: readonly string[] }[] = [];
  #route: string | undefined;
  #state: RequestSummary['state'] = 'open';
  #answer: { milliseconds: number; status?: number } | undefined;
  #outcome: Outcome | undefined;
  #dropped = 0;
  #open = 0;
  #leaks = 0;

  constructor(id: number, arrival: Arrival, now: number) {
    this.id = id;
    this.#arrival = arrival;
    this.#start = now;
    this.#arrived = Date.now();
    this.step('arrived', now);
  }

  get over(): boolean {
    return this.#state !== 'open';
  }

  get lost(): boolean {
    return !this.over && this.#arrival.lost();
  }

  step(kind: StepKind, now: number, details: StepDetails = {}): void {
    this.#findRoute();
    if (this.#steps.length >= MOST_STEPS) {
      this.#dropped++;
      return;
    }
    const { took = 0 } = details;
    // What is told afterwards began before.
    this.#steps.push({ kind, at: Math.max(0, now - this.#start - took), ...details });
  }

  /** Gives the number of the lane. */
  openLane(box: string, now: number): number | undefined {
    this.#open++;
    const lane = this.#lanes.length;
    if (lane >= MOST_LANES) {
      this.#dropped++;
      return undefined;
    }
    this.#lanes.push({ box, opened: now - this.#start });
    this.step('scope opened', now, { lane });
    return lane;
  }

  endLane(lane: number | undefined, now: number): void {
    this.#open--;
    const ended = lane === undefined ? undefined : this.#lanes[lane];
    if (!ended || lane === undefined) return;
    ended.ended = now - this.#start;
    this.step('scope ended', now, { lane });
  }

  leak(lane: number | undefined, where: readonly string[]): void {
    this.#leaks++;
    const leaked = lane === undefined ? undefined : this.#lanes[lane];
    if (leaked) leaked.where = where;
  }

  transactionEnded(outcome: Outcome): void {
    const worse = BY_BADNESS.indexOf(outcome) > (this.#outcome ? BY_BADNESS.indexOf(this.#outcome) : -1);
    if (worse) this.#outcome = outcome;
  }

  answered(status: number, now: number): void {
    if (this.over) return;
    this.#state = 'answered';
    this.#answer = { milliseconds: now - this.#start, status };
    this.step('answered', now);
  }

  aborted(now: number): void {
    if (this.over) return;
    this.#state = 'aborted';
    this.#answer = { milliseconds: now - this.#start };
    this.step('aborted', now);
  }

  summary(): RequestSummary {
    this.#findRoute();
    return {
      id: this.id,
      method: this.#arrival.method,
      route: this.#route ?? '(no route)',
      arrived: this.#arrived,
      state: this.#state,
      ...this.#answer,
      ...(this.#outcome && { outcome: this.#outcome }),
      open: this.#open,
      leaks: this.#leaks,
    };
  }

  details(): RequestDetails {
    const lanes: readonly Lane[] = this.#lanes;
    const steps = this.#steps.toSorted((one, other) => one.at - other.at);
    return { ...this.summary(), lanes, steps, dropped: this.#dropped };
  }

  /** Early, because Express forgets where a router was mounted once an error left it. */
  #findRoute(): void {
    this.#route ??= this.#arrival.route();
  }
}
