import { randomUUID } from 'node:crypto';
import type { TraceIds } from '@ambit/opentelemetry';
import { Type } from 'typebox';
import { IsUuid } from 'typebox/format';

/** The schema of an id. */
export const idOf = (description: string) => Type.String({ format: 'uuid', description });

/** The twelve bits between the version and the random part hold a counter. */
const MAX_PER_MS = 0x1000;

/** One sequence for the process, because the ids of two would not be in order. */
let ms = 0;
let count = 0;
/** All ids of this millisecond begin with it. */
let prefix = '';

/** A UUID of version 7: ids sort by creation time, so inserts stay local in the index and lists are oldest first. */
export function newId(): string {
  count += 1;
  const now = Date.now();
  // The time in ids never goes back, even when the clock does.
  if (now > ms || count === MAX_PER_MS) {
    ms = Math.max(now, ms + 1);
    count = 0;
    const time = ms.toString(16).padStart(12, '0');
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  }
  // Node generates random bytes for many UUIDs at a time.
  return `${prefix}${count.toString(16).padStart(3, '0')}-${randomUUID().slice(19)}`;
}

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
    if (this.userId !== undefined)
      throw new Error('setUserId() was called twice: call it once, in the `identify` option, before the handler runs');
    this.userId = userId;
  }
}
