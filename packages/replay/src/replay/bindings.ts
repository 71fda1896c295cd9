import { types } from 'node:util';
import { unpacked } from '../data.js';
import type { Recording, Step } from '../recording.js';

const UUID = '[\\da-f]{8}-(?:[\\da-f]{4}-){3}[\\da-f]{12}';
const TIME = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|[+-]\d\d(?::?\d\d)?))?`;
/** Milliseconds, or seconds, since 1970. */
const EPOCH = String.raw`(?<![\w.-])1\d{9}(?:\d{3})?(?![\w.-])`;
/** Ids as nanoid, ULID, cuid and `randomBytes()` make them. */
const GENERATED = String.raw`(?<![\w-])[\w-]{20,}(?![\w-])`;
const TOKEN = new RegExp(`${UUID}|${TIME}|${EPOCH}|${GENERATED}`, 'gi');
const IS_UUID = new RegExp(`^${UUID}$`, 'i');
const IS_TIME = new RegExp(`^(?:${TIME}|${EPOCH})$`);

/** A value of the recording, and the one that was made in its place. */
export type Fresh = readonly [recorded: string, now: string];

function timeOf(text: string): number {
  return /^1\d{9}$/.test(text) ? Number(text) * 1000 : /^\d+$/.test(text) ? Number(text) : Date.parse(text);
}

/**
 * Values that a handler makes by itself are others each time: ids, tokens and times. Each is bound to the recorded one, for the rest of the
 * replay. A value that came from the request or from a row was not made by the handler, and is bound to nothing: it must be equal.
 */
export class Bindings {
  readonly #toNow = new Map<string, string>();
  readonly #toRecorded = new Map<string, string>();
  readonly #standIns: ReadonlySet<string>;
  /** All that a handler is given: what it makes now is not in it. */
  readonly #all: string;
  /** Everything the handler has been given so far. */
  readonly #seen: string[];
  readonly #seenTimes = new Set<number>();

  constructor(recording: Recording) {
    this.#standIns = new Set(recording.standIns);
    const { request, steps } = recording;
    this.#all = JSON.stringify([request, steps.map(({ rows, response, error }) => [rows, response, error])]);
    this.#seen = [];
    this.see(recording.request);
  }

  /** From now on the handler may have it from there. */
  see(given: unknown): void {
    const text = JSON.stringify(given) ?? '';
    this.#seen.push(text);
    for (const [token] of text.matchAll(TOKEN)) if (IS_TIME.test(token)) this.#seenTimes.add(timeOf(token));
  }

  /**
   * Compares two values. Values that the handler has made by itself may differ.
   *
   * @param step - the recorded one's: times may differ by as much as had passed
   * @returns what has to be bound; undefined where they are not the same
   */
  match(recorded: unknown, now: unknown, step: Pick<Step, 'at'>): Fresh[] | undefined {
    const found: Fresh[] = [];
    return this.#same(recorded, now, step.at + 1000, found) ? found : undefined;
  }

  bind(fresh: readonly Fresh[]): void {
    for (const [recorded, now] of fresh) {
      this.#toNow.set(recorded, now);
      this.#toRecorded.set(now, recorded);
    }
  }

  /** A recorded value as it is now: rows have the ids that were made now. */
  given(value: unknown): unknown {
    if (this.#toNow.size === 0) return value;
    if (typeof value === 'string') {
      const whole = this.#toNow.get(value);
      return whole ?? value.replaceAll(TOKEN, (token) => this.#toNow.get(token) ?? token);
    }
    if (typeof value !== 'object' || value === null || types.isDate(value) || ArrayBuffer.isView(value)) return value;
    if (Array.isArray(value)) return value.map((one) => this.given(one));
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.given(one)]));
  }

  #same(recorded: unknown, now: unknown, window: number, found: Fresh[]): boolean {
    if (typeof recorded === 'string' && typeof now === 'string') return this.#sameText(recorded, now, window, found);
    if (typeof recorded !== typeof now) return false;
    if (typeof recorded === 'number' || typeof recorded === 'bigint') {
      if (Object.is(recorded, now)) return true;
      return this.#sameText(String(recorded), String(now), window, found);
    }
    if (typeof recorded !== 'object' || recorded === null || now === null) return Object.is(recorded, now);
    if (types.isDate(recorded)) return types.isDate(now) && this.#sameTime(recorded.getTime(), now.getTime(), window);
    if (ArrayBuffer.isView(recorded)) return ArrayBuffer.isView(now) && this.#sameBytes(recorded, now, found);
    const [own, other] = [Object.entries(recorded), Object.entries(now as object)];
    return (
      own.length === other.length &&
      own.every(([key, one]) => this.#same(one, (now as Record<string, unknown>)[key], window, found))
    );
  }

  #sameText(recorded: string, now: string, window: number, found: Fresh[]): boolean {
    if (this.#standIns.has(recorded) && recorded !== now) return this.#isFresh(recorded, now, found);
    const [own, other] = [recorded.match(TOKEN) ?? [], now.match(TOKEN) ?? []];
    if (own.length === 0 || own.length !== other.length) return recorded === now;
    if (recorded.replaceAll(TOKEN, '\0') !== now.replaceAll(TOKEN, '\0')) return false;
    return own.every((token, i) => this.#sameToken(token, other[i] ?? '', window, found));
  }

  #sameToken(recorded: string, now: string, window: number, found: Fresh[]): boolean {
    if (IS_TIME.test(recorded) && IS_TIME.test(now))
      return recorded === now || this.#sameTime(timeOf(recorded), timeOf(now), window);
    const bound = this.#toNow.get(recorded) ?? found.find(([one]) => one === recorded)?.[1];
    if (bound !== undefined) return bound === now;
    if (recorded === now) return !this.#toRecorded.has(now);
    const kind = IS_UUID.test(recorded);
    if (kind !== IS_UUID.test(now) || recorded.length !== now.length) return false;
    // The version of a UUID.
    if (kind && recorded[14] !== now[14]) return false;
    return (kind || (/\d/.test(recorded) && /[a-z]/i.test(recorded))) && this.#isFresh(recorded, now, found);
  }

  #sameTime(recorded: number, now: number, window: number): boolean {
    return recorded === now || (!this.#seenTimes.has(recorded) && Math.abs(recorded - now) <= window);
  }

  #sameBytes(recorded: ArrayBufferView, now: ArrayBufferView, found: Fresh[]): boolean {
    const [own, other] = [recorded, now].map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength).toString('base64'),
    ) as [string, string];
    if (own === other) return true;
    return own.length >= 20 && own.length === other.length && this.#isFresh(own, other, found);
  }

  /** Made by the handler, in the recording and now, and each in place of no other. */
  #isFresh(recorded: string, now: string, found: Fresh[]): boolean {
    const bound = this.#toNow.get(recorded) ?? found.find(([one]) => one === recorded)?.[1];
    if (bound !== undefined) return bound === now;
    const isTaken = this.#toRecorded.has(now) || found.some(([, one]) => one === now);
    const inJson = JSON.stringify(now).slice(1, -1);
    if (isTaken || this.#seen.some((text) => text.includes(recorded)) || this.#all.includes(inJson)) return false;
    found.push([recorded, now]);
    return true;
  }
}

export const paramsOf = ({ params }: Step): unknown[] | undefined => params?.map(unpacked);
