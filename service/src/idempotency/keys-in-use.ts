import { inject } from '@ambit/container';
import type { IRequestContext } from '../audit/request-context.js';
import { Problem } from '../problem.js';
import { storedKey } from './stored-key.js';

/** Application-wide: the keys whose first request is still running in this process. */
export class KeysInUse {
  readonly #keys = new Set<string>();

  claim(key: string): boolean {
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    return true;
  }

  free(key: string): void {
    this.#keys.delete(key);
  }
}

/** Of one request: holds its key until its transaction is over, or its scope where there was none. */
export class KeyHold {
  readonly #keys: KeysInUse;
  readonly #context: IRequestContext;
  #held: string | undefined;

  constructor(@inject('IKeysInUse') keys: KeysInUse, @inject('IRequestContext') context: IRequestContext) {
    this.#keys = keys;
    this.#context = context;
  }

  hold(key: string): void {
    const own = storedKey(this.#context, key);
    if (!this.#keys.claim(own)) throw stillRunning();
    this.#held = own;
  }

  /** The second time does nothing: by then another request may hold the key. */
  free(): void {
    if (this.#held !== undefined) this.#keys.free(this.#held);
    this.#held = undefined;
  }

  dispose(): void {
    this.free();
  }
}

export function stillRunning(): Problem {
  return new Problem(409, 'A request with this Idempotency-Key is still running: try again when it was answered', {
    'retry-after': '1',
  });
}
