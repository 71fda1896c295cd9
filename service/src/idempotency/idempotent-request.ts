import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { IRequestContext } from '../audit.js';
import { Problem } from '../problem.js';

export const IdempotencyKey = Type.String({ pattern: '^[!-~]{1,255}$' });
const keyCheck = Compile(IdempotencyKey);

/** The `Idempotency-Key` header as Node gives it. */
export type KeyHeader = string | string[] | undefined;

/** A request that is carried out once, however often the client sends it. */
export interface IdempotentRequest {
  readonly key: string;
  /** Distinguishes a repetition from another request under the same key. */
  readonly fingerprint: string;
}

/** `input` is what the work depends on, so that white space and unknown properties make no difference. */
export function idempotentRequest(header: string | string[], endpoint: string, input: unknown): IdempotentRequest {
  if (!keyCheck.Check(header))
    throw new Problem(400, 'Idempotency-Key must be 1 to 255 visible ASCII characters, given once');
  return { key: header, fingerprint: sha256(`${endpoint}\n${JSON.stringify(input)}`) };
}

/** The key as it is stored. Each caller has its own keys, so nobody gets another caller's response or learns its keys. */
export function storedKey({ userId }: IRequestContext, key: string): string {
  // A client's key cannot have a space.
  return userId === undefined ? key : `of ${sha256(`${userId}\n${key}`)}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
