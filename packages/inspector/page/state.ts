import { computed, signal } from '@preact/signals';
import type { Trouble } from '../src/wire.js';
import { PoolHistory } from './histories.js';
import { Store } from './stream/store.js';

export const store = new Store();
export const pool = new PoolHistory();
/** Goes up with each message of the server: what reads it is drawn again. */
export const messages = signal(0);
export const troubles = signal<readonly Trouble[]>([]);
/** Of the recording before the last restart. */
export const earlier = signal<readonly Trouble[]>([]);

store.onStart(() => pool.clear());
store.onChange((_, change) => {
  pool.take(store.now?.pool, Date.now(), change);
  troubles.value = store.troubles;
  earlier.value = store.earlier;
  messages.value++;
});

/** The newest requests first. */
export const newest = computed(() => {
  void messages.value;
  return [...store.requests.values()].toSorted((one, other) => other.id - one.id);
});
