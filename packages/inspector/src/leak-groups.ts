import type { ScopeEntry } from './scope-entry.js';
import type { LeakGroup } from './wire.js';

const MOST_GROUPS = 50;
const MOST_REQUESTS = 5;

/** The scopes that leaked and are still open, by the place in the code that opened them. */
export class LeakGroups {
  readonly #groups = new Map<string, Set<ScopeEntry>>();

  add(entry: ScopeEntry): void {
    const id = [entry.box, ...placeOf(entry)].join('\n');
    const group = this.#groups.get(id);
    if (group) group.add(entry);
    else if (this.#groups.size < MOST_GROUPS) this.#groups.set(id, new Set([entry]));
  }

  closed(entry: ScopeEntry): void {
    if (!entry.leaked) return;
    for (const [id, group] of this.#groups) if (group.delete(entry) && group.size === 0) this.#groups.delete(id);
  }

  groups(now: number): LeakGroup[] {
    return Array.from(this.#groups.values(), (group) => groupOf([...group], now));
  }
}

function groupOf(entries: readonly ScopeEntry[], now: number): LeakGroup {
  const [oldest] = entries as readonly [ScopeEntry];
  const requests = entries.flatMap(({ request }) => request?.id ?? []);
  return {
    box: oldest.box,
    where: placeOf(oldest),
    open: entries.length,
    age: now - oldest.opened,
    requests: [...new Set(requests)].slice(-MOST_REQUESTS),
  };
}

function placeOf({ where }: ScopeEntry): readonly string[] {
  return where?.lines() ?? [];
}
