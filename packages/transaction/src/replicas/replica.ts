import { within } from '../core/clock.js';
import type { AcquireOptions, IDatabasePool, IPooledConnection } from '../core/contract.js';
import { AcquireRequest, cancelledBy, onCancelled } from '../pool/checkout.js';
import type { ReplicatedSettings } from './options.js';
import { type Position, positionIn, REPLAYED, START } from './position.js';
import { probe } from './probe.js';

/** One standby: how far it has replayed, as of when it was last asked, and whether it responds. */
export class Replica {
  readonly #pool: IDatabasePool;
  readonly #settings: ReplicatedSettings;
  /** Undefined where it is no standby any more. */
  #replayed: Position | undefined = START;
  #askedAt = -Infinity;
  #isOut = false;
  /** Never rejects. */
  #asking: Promise<void> | undefined = undefined;

  constructor(pool: IDatabasePool, settings: ReplicatedSettings) {
    this.#pool = pool;
    this.#settings = settings;
  }

  /** Whether it responded when it was last asked. */
  get isThere(): boolean {
    return !this.#isOut;
  }

  /**
   * Whether it has replayed so far. What it said last counts for `checkEveryMs` only, because a standby that restarts may
   * be behind where it was.
   */
  async hasReplayed(position: Position): Promise<boolean> {
    const { checkEveryMs, retryEveryMs } = this.#settings;
    const isDue = this.#settings.clock.now() - this.#askedAt >= (this.#isLeftOut ? retryEveryMs : checkEveryMs);
    const asking = isDue ? (this.#asking ??= this.#ask()) : this.#asking;
    // Nobody waits for one that is left out, nor where the response would change nothing.
    if (asking && isDue && !this.#isLeftOut && position > START) await asking;
    return !this.#isOut && this.#replayed !== undefined && this.#replayed >= position;
  }

  /** Until it says again how far it is. */
  leaveOut(): void {
    this.#isOut = true;
    this.#askedAt = this.#settings.clock.now();
  }

  async connect(options: AcquireOptions): Promise<IPooledConnection> {
    const { isolation, timeoutMs = Infinity } = options;
    const request = new AcquireRequest({
      terms: isolation === undefined ? { readOnly: true } : { isolation, readOnly: true },
      acquireTimeoutMs: Math.min(timeoutMs, this.#settings.replicaTimeoutMs),
      signal: undefined,
    });
    const why = cancelledBy(options);
    if (why) request.cancel(why.reason);
    const stopListening = onCancelled(options, ({ reason }) => request.cancel(reason));
    try {
      return await this.#pool.getConnection(request);
    } finally {
      stopListening();
    }
  }

  get #isLeftOut(): boolean {
    return this.#isOut || this.#replayed === undefined;
  }

  async #ask(): Promise<void> {
    const { clock, replicaTimeoutMs } = this.#settings;
    const late = (): Error => new Error('The replica took too long to say how far it is');
    try {
      const asking = probe(this.connect({}), REPLAYED, this.#settings);
      this.#replayed = positionIn(await within(clock, replicaTimeoutMs, asking, late));
      this.#isOut = false;
      this.#askedAt = clock.now();
    } catch {
      this.leaveOut();
    } finally {
      this.#asking = undefined;
    }
  }
}
