import { Chance, type Flush, onClock, type Parts, type SimulatedNetwork } from '@ambit/host-contract';
import { SimulatedClock } from '@ambit/transaction/testing';
import { checkBooks } from './books.js';
import { Client } from './client.js';
import { SimulatedDatabase } from './database.js';
import { type Instance, scopes } from './instance.js';
import type { Intent } from './intent.js';
import type { DatabaseLine, Fault } from './wire.js';

const KINDS = ['refused', 'conflict', 'deadlock', 'lost', 'lost after', 'late', 'never'] as const;
const PRODUCTS = ['apple', 'pear', 'plum'] as const;
/** The service takes what is older as an expired key. */
const DAY_MS = 86_400_000;
const ID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;
const BEGIN = Date.UTC(2030, 0, 1);

/** Some clients of one or two instances over one database, and all that befalls them, until nothing is left to happen. */
export class Run implements DatabaseLine {
  readonly chance: Chance;
  readonly clock: SimulatedClock;
  readonly database: SimulatedDatabase;
  readonly parts: Parts;
  readonly instances: readonly Instance[];
  /** What clients want, each once, however often they ask for it. */
  readonly intents: Intent[] = [];
  /** Nobody leaves and nothing fails. */
  readonly calm: boolean;
  /** How much there was of each product, */
  readonly stock: Readonly<Record<string, number>>;
  /** and how much has been delivered. */
  readonly delivered: Record<string, number> = {};
  /** How often the clock went on by so much that keys expired. */
  expiries = 0;
  /** When the first instance began to stop. */
  stoppingSince = Infinity;
  /** How many things went wrong. */
  struck = 0;
  readonly silentMs: number;
  readonly #slowReaders: boolean;
  readonly #faultRate: number;
  readonly #stops: boolean;
  readonly #broken: string[] = [];
  readonly #trace: string[] | undefined;
  readonly #atEnd: (() => void)[] = [];
  readonly #ids = new Map<string, string>();
  #faults = 0;
  #offsetMs = 0;
  #clients = 0;
  #isStopped = false;

  constructor(seed: number, instances: readonly Instance[], { stops, trace, parts }: RunOptions) {
    this.parts = parts;
    this.#trace = trace;
    this.#stops = stops;
    this.chance = new Chance(seed);
    this.clock = new SimulatedClock(this.chance.fork().next);
    const { chance } = this;
    const first = chance.below(instances.length);
    this.instances = stops || chance.of(0.4) ? instances : instances.slice(first, first + 1);
    // Only then is it certain which responses an instance owes that stops.
    this.calm = chance.of(stops ? 0.5 : 0.15);
    this.silentMs = chance.pick([5000, 30_000]);
    this.#slowReaders = chance.of(stops ? 0.5 : 0.1);
    this.#faultRate = this.calm || chance.of(0.2) ? 0 : chance.pick([0.03, 0.1, 0.25]);
    this.stock = Object.fromEntries(PRODUCTS.map((product) => [product, chance.pick([0, 3, 10, 1000])]));
    this.database = new SimulatedDatabase(this.clock, this.stock);
  }

  /** Returns what went against the guarantees: nothing, it is hoped. */
  play(): Promise<readonly string[]> {
    const date = (): number => BEGIN + this.#offsetMs + this.clock.now();
    return onClock(this.clock, () => this.#play(), date);
  }

  note(who: string, what: string): void {
    if (!this.#trace) return;
    const named = what.replaceAll(ID, (id) => this.#nameOf(id));
    this.#trace.push(`${String(this.clock.now()).padStart(6)} ${who}: ${named}`);
  }

  broke(guarantee: string): void {
    this.note('BROKEN', guarantee);
    this.#broken.push(guarantee);
  }

  /** Whether something goes wrong, by chance, and unless this part of the run was left out. */
  strikes(name: string, probability: number, chance = this.chance): boolean {
    const isDrawn = chance.of(probability);
    if (this.calm || !isDrawn || !this.parts.has(name)) return false;
    this.struck += 1;
    return true;
  }

  faultAt(what: string): Fault {
    const { chance } = this;
    this.#faults += 1;
    const ms = chance.of(0.8) ? chance.below(20) : chance.below(600);
    const kind = chance.pick(KINDS);
    if (what === 'disconnect') return { ms: ms * 5, kind: 'none' };
    if (!this.strikes(`f${this.#faults}`, this.#faultRate)) return { ms: this.calm ? ms % 20 : ms, kind: 'none' };
    this.note(`f${this.#faults}`, `${what}: ${kind}`);
    return { ms, kind };
  }

  /** The network of one client. */
  network(client: string, chance: Chance): SimulatedNetwork {
    let writes = 0;
    const flush = (): Flush => {
      writes += 1;
      if (this.#slowReaders && chance.of(0.5)) return chance.below(100);
      const ms = chance.of(0.1) ? chance.below(50) : 0;
      if (!this.strikes(`${client}.w${writes}`, 0.02, chance)) return ms;
      return chance.of(0.5) ? 'stuck' : 'broken';
    };
    return {
      chance,
      clock: this.clock,
      flush,
      note: (who, what) => this.note(`${client} ${who}`, what),
      later: (fn) => void this.clock.setTimer(fn, chance.below(300)),
    };
  }

  /** When nothing more is going to happen. */
  atEnd(act: () => void): void {
    this.#atEnd.push(act);
  }

  async #play(): Promise<readonly string[]> {
    const listeners = countListeners();
    const clients = this.chance.pick([1, 2, 2, 3]);
    for (const instance of this.instances) instance.leadTo(this);
    for (let n = 1; n <= clients; n += 1) {
      const client = new Client(this, `c${n}`, this.chance.fork());
      if (!this.parts.has(`c${n}`)) continue;
      this.#clients += 1;
      void client.come().then(
        () => (this.#clients -= 1),
        (error: unknown) => this.broke(`c${n} is wrong itself: ${String(error)}`),
      );
    }
    this.#interfere();
    await this.#quiet();
    // A client that takes no more of its response, and stays, is cut off by the time limits of real sockets.
    for (const act of this.#atEnd) act();
    await this.#quiet();
    if (this.#clients > 0) this.broke(`${this.#clients} clients wait forever`);
    if (this.#stops && !this.#isStopped) this.broke('the instance does not stop');
    if (scopes.open !== 0) this.broke(`${scopes.open} scopes are open`);
    if (countListeners() !== listeners) this.broke('somebody listens to the process who did not before');
    checkBooks(this);
    return this.#broken;
  }

  /** What comes from outside: SIGTERM, a delivery, a clock that is put right, the deletion of expired keys. */
  #interfere(): void {
    const chance = this.chance.fork();
    const [first] = this.instances;
    if (this.#stops && first) this.clock.setTimer(() => void this.#stop(first), chance.below(800));
    if (chance.of(0.2) && this.parts.has('delivery'))
      this.clock.setTimer(() => void this.#deliver(chance), chance.below(1500));
    const jumpMs = chance.pick([-DAY_MS / 24, -1000, 1000, DAY_MS / 2, DAY_MS + 1]);
    if (this.strikes('jump', 0.1, chance)) this.clock.setTimer(() => this.#jump(jumpMs), chance.below(3000));
    if (chance.of(0.1) && first && this.parts.has('expiry'))
      this.clock.setTimer(() => void this.#expire(first), chance.below(3000));
  }

  /** In a transaction of some length, in which orders wait for the product. */
  async #deliver(chance: Chance): Promise<void> {
    const [product, quantity] = [chance.pick(PRODUCTS), 1 + chance.below(10)];
    const session = this.database.connect();
    await session.execute('BEGIN');
    await session.execute('UPDATE stock SET level = level + $2 WHERE product_id = $1', [product, quantity]);
    await this.clock.sleep(chance.below(100));
    await session.execute('COMMIT');
    session.close();
    this.delivered[product] = (this.delivered[product] ?? 0) + quantity;
    this.note('somebody', `has delivered ${quantity} of ${product}`);
  }

  #jump(ms: number): void {
    this.note('clock', `jumps by ${ms} ms`);
    this.#offsetMs += ms;
    if (ms > DAY_MS) this.expiries += 1;
  }

  async #expire(instance: Instance): Promise<void> {
    if (this.stoppingSince < Infinity) return;
    await instance.container
      .resolve('IIdempotency')
      .removeExpired()
      .catch(() => undefined);
  }

  async #stop(instance: Instance): Promise<void> {
    this.stoppingSince = this.clock.now();
    this.note(instance.name, 'begins to stop');
    try {
      await instance.stop();
    } catch (error) {
      // A statement may be without a response for longer than an instance waits for it.
      if (this.struck === 0) this.broke(`${instance.name} fails to stop: ${String(error)}`);
    }
    this.#isStopped = true;
    this.note(instance.name, 'has stopped');
  }

  /** The ids of the service are other ones each time. */
  #nameOf(id: string): string {
    const name = this.#ids.get(id) ?? `id${this.#ids.size + 1}`;
    this.#ids.set(id, name);
    return name;
  }

  /** Lets everything happen that is going to. Some of it takes turns of the event loop that no clock knows of. */
  async #quiet(): Promise<void> {
    for (let turns = 0; turns < 5; turns += 1) await this.clock.run();
  }
}

interface RunOptions {
  /** Whether the first instance, which is this run's own, stops in the middle. */
  readonly stops: boolean;
  /** Writes down what happens. */
  readonly trace: string[] | undefined;
  readonly parts: Parts;
}

function countListeners(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
}
