import { createHash } from 'node:crypto';
import type { IRequestContext } from '../audit/request-context.js';

/** Keys are each caller's own: nobody gets another's answer, nor learns which keys others have used. */
export function storedKey({ userId }: IRequestContext, key: string): string {
  if (userId === undefined) return key;
  const digest = createHash('sha256').update(`${userId}\n${key}`).digest('base64url');
  // With a space, which a client's key cannot have.
  return `of ${digest}`;
}
