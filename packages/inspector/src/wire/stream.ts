import type { Now } from './now.js';
import type { RequestSummary } from './request.js';
import type { ServiceStats } from './tables.js';

export interface NamesFrom {
  readonly from: number;
  readonly texts: readonly string[];
}

/** What changed; sent a few times a second. */
export interface Tick {
  /** One more than that of the message before. */
  readonly number: number;
  readonly now: Now;
  readonly requests: readonly RequestSummary[];
  readonly services: readonly ServiceStats[];
  /** Texts that are new, and the index of the first of them. */
  readonly names: NamesFrom;
}

/** The first message: the complete state. */
export interface Hello extends Tick {
  /** A new id after each restart, of the process or of the recording. */
  readonly boot: string;
  readonly limitMs: number;
  /** A request that takes longer counts as trouble. */
  readonly slowMs: number;
  /** How many requests without trouble are kept. */
  readonly keep: number;
  /** How many with trouble. */
  readonly keepTrouble: number;
  /** It records also while no page is open. */
  readonly always: boolean;
}
