import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** A working day; then the browser asks for the token again. */
const LASTS_MS = 8 * 60 * 60 * 1000;

/** What a browser has that has sent the token: when its session is over, and a proof. It contains no token, and survives a restart. */
export class Sessions {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  /** The value of a cookie, and how long it is valid. */
  start(): { readonly session: string; readonly maxAgeSeconds: number } {
    const until = String(Date.now() + LASTS_MS);
    return { session: `${until}.${this.#proofOf(until)}`, maxAgeSeconds: LASTS_MS / 1000 };
  }

  isValid(session: string): boolean {
    const [until = '', proof = ''] = session.split('.');
    return same(proof, this.#proofOf(until)) && Number(until) > Date.now();
  }

  #proofOf(until: string): string {
    return createHmac('sha256', this.#token).update(`ambit inspector session until ${until}`).digest('hex');
  }
}

/** Compares in constant time. */
export function same(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
