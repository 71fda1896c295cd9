import { inject } from '@ambit/container';
import { Problem } from '../http/problem.js';

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

/** Of one request: holds its key until the request's scope ends, whichever way it does. */
export class KeyHold {
  readonly #keys: KeysInUse;
  #held: string | undefined;

  constructor(@inject('IKeysInUse') keys: KeysInUse) {
    this.#keys = keys;
  }

  hold(key: string): void {
    if (!this.#keys.claim(key)) throw stillRunning();
    this.#held = key;
  }

  dispose(): void {
    if (this.#held !== undefined) this.#keys.free(this.#held);
  }
}

export function stillRunning(): Problem {
  return new Problem(409, 'A request with this Idempotency-Key is still running: try again when it was answered', {
    'retry-after': '1',
  });
}
