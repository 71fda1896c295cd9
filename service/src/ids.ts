import { randomUUID } from 'node:crypto';
import { Type } from 'typebox';
import { IsUuid } from 'typebox/format';

export const Id = Type.String({ format: 'uuid' });

/** What fits into the twelve bits between version and chance. */
const MOST_PER_MS = 0x1000;

let ms = 0;
let count = 0;

/** A UUID of version 7: ids sort in the order in which they were made, so inserts stay local and lists are oldest first. */
export function newId(): string {
  const now = Date.now();
  if (now > ms) [ms, count] = [now, 0];
  else count += 1;
  // Also when the clock is set back, time goes on here.
  if (count === MOST_PER_MS) [ms, count] = [ms + 1, 0];
  // In two halves, because V8 writes a number in hex slowly that does not fit into 32 bits.
  const [high, low] = [Math.floor(ms / 0x1_0000), ms % 0x1_0000];
  // Node draws chance for many of its own at a time.
  return `${hex(high, 8)}-${hex(low, 4)}-7${hex(count, 3)}-${randomUUID().slice(19)}`;
}

const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0');

/** The id as it is stored, or undefined when it can be nobody's. */
export const storedId = (text: string): string | undefined => (IsUuid(text) ? text.toLowerCase() : undefined);
