import type { Session } from './session.js';

interface Waiting {
  readonly resolve: (session: Session) => void;
  readonly reject: (error: unknown) => void;
  readonly order: number;
}

/** Callers for whom the server had no space for a new connection, first come first served. */
export class WaitingForSpace {
  readonly #waiting: Waiting[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  /** In the order asked: the caller that asked first may have learned later that there is no space. */
  wait(order: number): Promise<Session> {
    return new Promise((resolve, reject) => {
      const before = this.#waiting.findLastIndex((waiting) => waiting.order < order);
      this.#waiting.splice(before + 1, 0, { resolve, reject, order });
    });
  }

  /** Gives the session to the first caller; false where nobody waits. */
  give(session: Session): boolean {
    const first = this.#waiting.shift();
    first?.resolve(session);
    return first !== undefined;
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
