import type { ReplicatedSettings } from './options.js';
import { type Position, positionIn, START, WRITTEN } from './position.js';
import type { Primary } from './primary.js';

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
  readonly #primary: Primary;
  /** Oldest first; one of them is kept however old it is. */
  readonly #samples: Sample[] = [];
  #asking: Promise<void> | undefined = undefined;

  constructor(settings: ReplicatedSettings, primary: Primary) {
    this.#settings = settings;
    this.#primary = primary;
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
    const at = this.#settings.clock.now();
    const position = await this.#primary.probe(WRITTEN).then(positionIn, () => undefined);
    if (position !== undefined) this.#samples.push({ at, position });
    this.#asking = undefined;
  }
}
