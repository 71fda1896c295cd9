import { channel } from 'node:diagnostics_channel';
import { type Finding, messageOf, type Occurrence, TransactionCheckError } from './finding.js';
import type { Allowed, CheckSettings } from './options.js';
import { type Place, textOf } from './place.js';

/** The finding with its present count, each time that it happens. */
const transactionFinding = channel('ambit:transaction:finding');

/** Code has as many places as it has; texts of statements that stand in for a missing place may be without number. */
const MOST_FINDINGS = 1000;

type Counted = Finding & { count: number };

/** What was found so far: each place once, with a count. */
export class Findings {
  readonly #settings: CheckSettings;
  readonly #byPlace = new Map<string, Counted>();

  constructor(settings: CheckSettings) {
    this.#settings = settings;
  }

  get all(): readonly Finding[] {
    return [...this.#byPlace.values()];
  }

  clear(): void {
    this.#byPlace.clear();
  }

  /** Counts it, and reports it at the first time. Returns the error to refuse it with, in the mode `throw`. */
  add(occurrence: Occurrence): TransactionCheckError | undefined {
    if (this.#settings.allow.some((allowed) => covers(allowed, occurrence))) return undefined;
    const finding = this.#count(occurrence);
    if (transactionFinding.hasSubscribers) transactionFinding.publish({ ...finding });
    return this.#settings.mode === 'throw' ? new TransactionCheckError([finding]) : undefined;
  }

  #count(occurrence: Occurrence): Counted {
    const { kind, place, until, sql, request, route } = occurrence;
    const identity = [kind, place ? textOf(place) : `${sql} ${request} ${route}`, until && textOf(until)].join(' ');
    const known = this.#byPlace.get(identity);
    if (known) {
      known.count += 1;
      return known;
    }
    const { what: _, ...others } = occurrence;
    const finding: Counted = { ...others, message: messageOf(occurrence), count: 1 };
    if (this.#byPlace.size >= MOST_FINDINGS) return finding;
    this.#byPlace.set(identity, finding);
    this.#report(finding);
    return finding;
  }

  /** A reporter that fails must not change what the application does. */
  #report(finding: Finding): void {
    try {
      this.#settings.report(finding);
    } catch (error) {
      process.emitWarning(error as Error);
    }
  }
}

function covers({ kind, place }: Allowed, occurrence: Occurrence): boolean {
  if (kind !== undefined && kind !== occurrence.kind) return false;
  return place === undefined || [occurrence.place, occurrence.until].some((at) => at !== undefined && isAt(at, place));
}

/** `audit.ts`, `src/audit.ts` and `src/audit.ts:12` name what is at src/audit.ts:12:7. */
function isAt(at: Place, wanted: string): boolean {
  return [at.file, `${at.file}:${at.line}`, textOf(at)].some((text) => text === wanted || text.endsWith(`/${wanted}`));
}
