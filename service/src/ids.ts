import { randomUUID } from 'node:crypto';
import { Type } from 'typebox';
import { IsUuid } from 'typebox/format';

/** The schema of an id. */
export const idOf = (description: string) => Type.String({ format: 'uuid', description });

/** The twelve bits between the version and the random part hold a counter. */
const MAX_PER_MS = 0x1000;

let ms = 0;
let count = 0;

/** A UUID of version 7: ids sort by creation time, so inserts stay local in the index and lists are oldest first. */
export function newId(): string {
  const now = Date.now();
  if (now > ms) [ms, count] = [now, 0];
  else count += 1;
  // The time in ids never goes back, even when the clock does.
  if (count === MAX_PER_MS) [ms, count] = [ms + 1, 0];
  // In two halves, because V8 is slow to format a number in hex that does not fit into 32 bits.
  const [high, low] = [Math.floor(ms / 0x1_0000), ms % 0x1_0000];
  // Node generates random bytes for many UUIDs at a time.
  return `${hex(high, 8)}-${hex(low, 4)}-7${hex(count, 3)}-${randomUUID().slice(19)}`;
}

const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0');

/** The id as it is stored, or undefined if no user can have it. */
export const storedId = (text: string): string | undefined => (IsUuid(text) ? text.toLowerCase() : undefined);
