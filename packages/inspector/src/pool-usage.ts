import type { Container } from '@ambit/container';
import type { PoolSize } from '@ambit/transaction';
import { subscribeAll } from './channels.js';
import type { PoolNow } from './wire.js';

/** How much of the application's connection pool is used, counted at each check-out: between two messages it may have been full. */
export class PoolUsage {
  readonly #container: Container;
  #mostInUse = 0;
  #mostWaiting = 0;

  constructor(container: Container) {
    this.#container = container;
  }

  watch(): () => void {
    const look = (): void => void this.#look();
    return subscribeAll({
      'ambit:connection:acquired': look,
      'ambit:connection:refused': look,
      'ambit:transaction:acquired': look,
    });
  }

  /** Undefined where the application has no pool that reports its size. */
  now(): PoolNow | undefined {
    const size = this.#look();
    if (!size) return undefined;
    const { open, idle, waiting, max } = size;
    const most = { mostInUse: this.#mostInUse, mostWaiting: this.#mostWaiting };
    return { open, idle, waiting, ...(max !== undefined && { max }), ...most };
  }

  /** For a message to all pages: the most is counted from now on again. */
  take(): PoolNow | undefined {
    const taken = this.now();
    this.#mostInUse = taken ? taken.open - taken.idle : 0;
    this.#mostWaiting = taken?.waiting ?? 0;
    return taken;
  }

  #look(): PoolSize | undefined {
    const size = this.#size();
    if (!size) return undefined;
    this.#mostInUse = Math.max(this.#mostInUse, size.open - size.idle);
    this.#mostWaiting = Math.max(this.#mostWaiting, size.waiting);
    return size;
  }

  #size(): PoolSize | undefined {
    try {
      const container = this.#container;
      if (container.disposed || !container.has('IDatabasePool')) return undefined;
      return container.resolve<{ readonly size?: PoolSize }>('IDatabasePool' as string).size;
    } catch {
      return undefined;
    }
  }
}
