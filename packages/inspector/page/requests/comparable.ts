import type { RequestDetails } from '../../src/wire.js';
import type { Store } from '../stream/store.js';
import type { Pinned } from './pinned.js';

/** As many as somebody looks through. */
const MOST = 20;

/** The names of requests that one may be compared with: the newest of its route, and what is pinned. */
export function comparableTo({ method, route }: RequestDetails, store: Store, pinned: Pinned): string[] {
  const alike = [...store.requests.values()].filter(
    (other) => other.method === method && other.route === route && other.state !== 'open',
  );
  const newest = alike.toSorted((one, other) => other.id - one.id).slice(0, MOST);
  return [...new Set([...newest.map(({ id }) => store.refOf(id)), ...pinned.entries().map(([ref]) => ref)])];
}
