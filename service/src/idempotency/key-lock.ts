import type { IRequestContext } from '../audit.js';
import { Problem } from '../problem.js';
import { storedKey } from './idempotent-request.js';

/** Application-wide: the keys whose first request is still running in this process. */
export class LockedKeys {
  readonly #keys = new Set<string>();

  acquire(key: string): boolean {
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    return true;
  }

  release(key: string): void {
    this.#keys.delete(key);
  }
}

/** One per request: locks its key until its transaction is finished, or until its scope is disposed where there was none. */
export class KeyLock {
  readonly #keys: LockedKeys;
  readonly #context: IRequestContext;
  #locked: string | undefined;

  constructor(keys: LockedKeys, context: IRequestContext) {
    this.#keys = keys;
    this.#context = context;
  }

  acquire(key: string): void {
    const own = storedKey(this.#context, key);
    if (!this.#keys.acquire(own)) throw stillRunning();
    this.#locked = own;
  }

  /** A second call does nothing: another request may have locked the key by then. */
  release(): void {
    if (this.#locked !== undefined) this.#keys.release(this.#locked);
    this.#locked = undefined;
  }

  dispose(): void {
    this.release();
  }
}

export function stillRunning(): Problem {
  return new Problem(409, 'A request with this Idempotency-Key is still running: try again when it has finished', {
    'retry-after': '1',
  });
}
