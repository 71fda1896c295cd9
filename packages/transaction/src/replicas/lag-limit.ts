import type { IDatabasePool } from '../core/contract.js';
import type { ReplicatedSettings } from './options.js';
import { type Position, positionIn, START, WRITTEN } from './position.js';

interface Sample {
  readonly at: number;
  readonly position: Position;
}

/**
 * How far a replica must be to be no further behind than `maxLagMs`: where the primary was at the earliest known moment
 * since then. The replica's own clock plays no part, and a primary without writes makes no replica late.
 */
export class LagLimit {
  readonly #settings: ReplicatedSettings;
  /** Oldest first; one of them is kept however old it is. */
  readonly #samples: Sample[] = [];
  #asking: Promise<void> | undefined = undefined;

  constructor(settings: ReplicatedSettings) {
    this.#settings = settings;
  }

  async required(): Promise<Position> {
    const { clock, maxLagMs, checkEveryMs } = this.#settings;
    if (maxLagMs === Infinity) return START;
    const now = clock.now();
    const last = this.#samples.at(-1);
    if (!last || now - last.at >= checkEveryMs) this.#asking ??= this.#ask();
    if (!last || now - last.at > maxLagMs) await this.#asking;
    while (this.#samples.length > 1 && now - (this.#samples[0]?.at ?? 0) > maxLagMs) this.#samples.shift();
    return this.#samples[0]?.position ?? START;
  }

  /** Where the primary does not respond, nothing new is written, and the last sample stands. */
  async #ask(): Promise<void> {
    const { clock, primary } = this.#settings;
    const at = clock.now();
    const position = await this.#positionOf(primary).catch(() => undefined);
    if (position !== undefined) this.#samples.push({ at, position });
    this.#asking = undefined;
  }

  async #positionOf(primary: IDatabasePool): Promise<Position | undefined> {
    const connection = await primary.getConnection({ readOnly: true, timeoutMs: this.#settings.replicaTimeoutMs });
    try {
      return positionIn(await connection.query(WRITTEN));
    } finally {
      connection.release();
    }
  }
}
