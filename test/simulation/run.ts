import type { IContainer } from '@ambit/container';
import { type FakeFault, FakePool, type FaultPoint, SimulatedClock } from '@ambit/transaction/testing';
import { Chance, FAULTS, type Flush, type Parts } from '@ambit/test-kit';
import { checkEnd, checkStanding } from './books.js';
import { Client } from './client.js';
import { Closing } from './closing.js';
import type { Served, SimulatedHost } from './host.js';
import { ForeignScope, Ledger, ourApplication } from './scopes.js';
import type { Visit } from './visit.js';
import { ignore } from './work.js';

interface RunOptions {
  readonly seed: number;
  readonly host: SimulatedHost;
  readonly served: Served;
  /** Whether the server, which is this run's own, closes in the middle. */
  readonly closes: boolean;
  /** Writes down what happens. */
  readonly trace: string[] | undefined;
  readonly parts: Parts;
}

/** Some clients of one server, and all that befalls them, from the first request until nothing is left to happen. */
export class Run {
  readonly chance: Chance;
  readonly clock: SimulatedClock;
  readonly ledger = new Ledger();
  readonly application: IContainer;
  readonly pool: FakePool;
  readonly clients: readonly Client[];
  /** Whether the host commits when the handler responds. */
  readonly hostCommits: boolean;
  readonly scopeOnError: SimulatedHost['scopeOnError'];
  readonly bringsScopes: boolean;
  readonly pipelines: boolean;
  /** A client has many requests on its way at a time. */
  readonly floods: boolean;
  /** How many of them may wait for their responses. */
  readonly maxRequestsPerConnection: number;
  /** Clients take their time with what they receive. */
  readonly slowReaders: boolean;
  /** Nobody leaves and nothing fails, but for what the handlers do themselves. */
  readonly calm: boolean;
  /** What becomes of the server, where it is this run's own. */
  readonly closing: Closing | undefined;
  /** Whether a transaction may last only so long; without that, a statement without a result would hold it forever. */
  readonly hasTimeouts: boolean;
  /** The simulation itself made the disposal of a scope slow, or fail. */
  unruly = false;
  readonly #faultRate: number;
  readonly #parts: Parts;
  #faults = 0;
  readonly #broken: string[] = [];
  readonly #trace: string[] | undefined;
  #events = 0;

  constructor(options: RunOptions) {
    this.#trace = options.trace;
    this.#parts = options.parts;
    this.chance = new Chance(options.seed);
    this.clock = new SimulatedClock(this.chance.next);
    this.hostCommits = options.host.commits;
    this.bringsScopes = options.host.bringsScopes ?? options.host.commits;
    this.pipelines = options.host.pipelines ?? true;
    this.floods = this.pipelines && this.chance.of(0.1);
    this.maxRequestsPerConnection = options.host.maxRequestsPerConnection ?? this.chance.pick([1, 2, 3, 100]);
    this.slowReaders = this.chance.of(this.floods ? 0.5 : 0.1);
    this.scopeOnError = options.host.scopeOnError;
    this.calm = this.chance.of(0.15);
    this.hasTimeouts = !this.calm && this.chance.of(0.4);
    this.#faultRate = this.calm || this.chance.of(0.3) ? 0 : 0.12;
    this.pool = new FakePool({
      max: 1 + this.chance.below(2),
      acquireTimeoutMs: 500,
      clock: this.clock,
      faultAt: (point) => this.#faultAt(point),
    });
    this.application = this.chance.of(0.4)
      ? ourApplication(this.ledger)
      : new ForeignScope(this.ledger, 'application', { isReadOnly: !this.calm && this.chance.of(0.03) });
    this.closing = options.closes ? new Closing(this, options.served) : undefined;
    this.clients = Array.from(
      { length: this.chance.of(0.93) ? 1 : 2 },
      (_, index) => new Client(this, options.served.server, 20 * index),
    );
  }

  /** Returns what went against the guarantees: nothing, it is hoped. */
  async play(): Promise<readonly string[]> {
    for (const [at, client] of this.clients.entries()) {
      if (!this.#parts.has(`c${at + 1}`)) continue;
      if (this.chance.of(0.7)) client.come();
      else this.clock.setTimer(() => this.#comeIfOpen(client), this.chance.below(100));
    }
    if (!this.calm) this.#interfere();
    this.closing?.begin();
    await this.#quiet();
    checkStanding(this);
    for (const { socket } of this.clients) socket.destroy();
    await this.#quiet();
    this.#queryLate();
    this.closing?.check();
    await this.ledger.endForGood(this.application);
    await this.#quiet();
    checkEnd(this);
    return this.#broken;
  }

  note(who: string, what: string): void {
    this.#events += 1;
    this.#trace?.push(`${String(this.clock.now()).padStart(5)} ${who}: ${what}`);
  }

  broke(promise: string): void {
    this.note('BROKEN', promise);
    this.#broken.push(promise);
  }

  /** After a while, or after a few turns of what else is in progress. */
  later(fn: () => void): void {
    if (this.chance.of(0.5)) this.clock.setTimer(fn, this.chance.below(300));
    else hop(this.chance.below(40), fn);
  }

  flush(): Flush {
    const { chance, calm, slowReaders } = this;
    if (slowReaders && chance.of(0.5)) return chance.below(100);
    if (calm || chance.of(0.85)) return 0;
    if (chance.of(0.75)) return chance.below(50);
    return chance.of(0.5) ? 'stuck' : 'broken';
  }

  *visits(): Generator<Visit> {
    for (const { socket } of this.clients) yield* socket.visits;
  }

  /** A server that closes takes no more connections. */
  #comeIfOpen(client: Client): void {
    if (!this.closing?.hasBegun) client.come();
  }

  /** Everything from outside that can end things early, at any time. */
  #interfere(): void {
    if (this.chance.of(0.05)) this.later(() => this.#endFromTheSide(this.application));
    for (const visit of this.visits()) {
      if (this.chance.of(0.05)) this.later(() => this.#endFromTheSide(visit.scope));
    }
  }

  #endFromTheSide(scope: IContainer | undefined): void {
    this.note('somebody', `ends ${scope === this.application ? 'the application' : 'a request'} container`);
    if (scope) void this.ledger.endFromTheSide(scope);
  }

  /** Lets everything happen that is going to. Some of it takes turns that no clock knows of. */
  async #quiet(): Promise<void> {
    for (let before = -1; before !== this.#events;) {
      before = this.#events;
      // A connection that closes waits for several such turns.
      for (let turns = 0; turns < 5; turns += 1) await this.clock.run();
    }
  }

  /** Whatever became of a transaction, its connection refuses from then on. */
  #queryLate(): void {
    for (const visit of this.visits()) {
      for (const handle of visit.handles) {
        handle.query('late').then(() => visit.broke('a query after the end had a result'), ignore);
      }
    }
  }

  #faultAt(point: FaultPoint): FakeFault {
    const { chance } = this;
    const ms = chance.of(0.8) ? chance.below(20) : chance.below(400);
    if (this.calm) return { ms: ms % 20, kind: 'none' };
    // Some leave in the very moment in which something else happens to them.
    if (chance.of(0.02)) this.#leaveAt(ms);
    this.#faults += 1;
    if (!chance.of(this.#faultRate) || !this.#parts.has(`f${this.#faults}`)) return { ms, kind: 'none' };
    const kind = chance.pick(FAULTS);
    const mayWait = point === 'commit' || point === 'rollback' || (this.hasTimeouts && point !== 'acquire');
    return { ms, kind: kind === 'never' && !mayWait ? 'lost' : kind };
  }

  #leaveAt(ms: number): void {
    const client = this.chance.pick(this.clients);
    if (this.chance.of(0.3)) client.leave();
    else this.clock.setTimer(() => client.leave(), ms);
  }
}

function hop(times: number, fn: () => void): void {
  if (times <= 0) fn();
  else queueMicrotask(() => hop(times - 1, fn));
}
