import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { Problem } from '../problem.js';

export const IdempotencyKey = Type.String({ pattern: '^[!-~]{1,255}$' });
const keyCheck = Compile(IdempotencyKey);

/** The Idempotency-Key header, if there is one. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (keyCheck.Check(header)) return header;
  throw new Problem(400, 'Idempotency-Key must be 1 to 255 visible ASCII characters, given once');
}
