import { randomUUID } from 'node:crypto';
import type { TraceIds } from '@ambit/opentelemetry';
import { Type } from 'typebox';
import { IsUuid } from 'typebox/format';

/** The schema of an id. */
export const idOf = (description: string) => Type.String({ format: 'uuid', description });

/** The twelve bits between the version and the random part hold a counter. */
const MAX_PER_MS = 0x1000;

class IdSequence {
  #ms = 0;
  #count = 0;
  /** All ids of this millisecond begin with it. */
  #prefix = '';

  next(): string {
    const now = Date.now();
    if (now > this.#ms) this.#begin(now);
    // The time in ids never goes back, even when the clock does.
    else if (++this.#count === MAX_PER_MS) this.#begin(this.#ms + 1);
    // Node generates random bytes for many UUIDs at a time.
    return `${this.#prefix}${hex(this.#count, 3)}-${randomUUID().slice(19)}`;
  }

  #begin(ms: number): void {
    this.#ms = ms;
    this.#count = 0;
    // In two halves, because V8 is slow to format a number in hex that does not fit into 32 bits.
    const [high, low] = [Math.floor(ms / 0x1_0000), ms % 0x1_0000];
    this.#prefix = `${hex(high, 8)}-${hex(low, 4)}-7`;
  }
}

const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0');

/** One for the process, because the ids of two would not be in order. */
const sequence = new IdSequence();

/** A UUID of version 7: ids sort by creation time, so inserts stay local in the index and lists are oldest first. */
export const newId = (): string => sequence.next();

/** The id as it is stored, or undefined if no user can have it. */
export const storedId = (text: string): string | undefined => (IsUuid(text) ? text.toLowerCase() : undefined);

/** Who sends a request, and under which ids it is found in the log. */
export interface IRequestContext {
  readonly requestId: string;
  readonly startTime: Date;
  readonly userId?: string | undefined;
  /** Set where the request is traced. */
  trace?: TraceIds | undefined;
  setUserId(userId: string): void;
}

export class RequestContext implements IRequestContext {
  /** It begins the primary key of `reservations`: random ids would touch another page of its index with each order. */
  readonly requestId = newId();
  readonly startTime = new Date();
  userId: string | undefined = undefined;
  trace: TraceIds | undefined = undefined;

  setUserId(userId: string): void {
    if (this.userId !== undefined) {
      throw new Error(
        'setUserId() was called twice in one request. Call it once, in the `identify` option, before the handler runs',
      );
    }
    this.userId = userId;
  }
}
