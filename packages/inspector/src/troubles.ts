import { fixOf, idOf, type Sign } from './signs.js';
import type { Trouble } from './wire.js';

interface Group extends Sign {
  readonly first: number;
  last: number;
  count: number;
  cause: string;
  readonly routes: Set<string>;
  requests: number[];
}

/** The line of the class or factory of a service. */
export type Definition = (key: string) => string | undefined;

const MOST_GROUPS = 200;
const MOST_REQUESTS = 5;
const MOST_ROUTES = 8;

/** What went wrong since the recording started, by its cause. */
export class Troubles {
  readonly #groups = new Map<string, Group>();
  readonly #definition: Definition;
  /** How many there were, whatever the cause. */
  occurrences = 0;

  constructor(definition: Definition = () => undefined) {
    this.#definition = definition;
  }

  /** Adds an occurrence. A cause beyond the number that is kept replaces the one that has not occurred for longest. */
  add(sign: Sign, at: number, request?: { readonly id: number; readonly name: string }): void {
    const id = idOf(sign);
    this.occurrences++;
    const group = this.#groups.get(id) ?? { ...sign, first: at, last: at, count: 0, routes: new Set(), requests: [] };
    group.count++;
    group.last = at;
    group.cause = sign.cause;
    if (request) {
      if (group.routes.size < MOST_ROUTES) group.routes.add(request.name);
      group.requests = [...group.requests.filter((other) => other !== request.id), request.id].slice(-MOST_REQUESTS);
    }
    // The order of the map is that of the last occurrence.
    this.#groups.delete(id);
    this.#groups.set(id, group);
    const [oldest = ''] = this.#groups.keys();
    if (this.#groups.size > MOST_GROUPS) this.#groups.delete(oldest);
  }

  has(sign: Sign): boolean {
    return this.#groups.has(idOf(sign));
  }

  /** The newest first. */
  all(): Trouble[] {
    return Array.from(this.#groups, ([id, group]) => {
      const { kind, cause, service, sql, error, count, first, last, routes, requests } = group;
      const where = group.where ?? (service === undefined ? undefined : this.#definition(service));
      return {
        id,
        kind,
        cause,
        ...(where !== undefined && { where }),
        ...(sql !== undefined && { sql }),
        ...(error !== undefined && { error }),
        fix: fixOf(group),
        count,
        first,
        last,
        routes: [...routes],
        requests,
      };
    }).toReversed();
  }
}
