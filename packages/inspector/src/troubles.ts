import { causeOf, type Sign } from './signs.js';
import type { Trouble } from './wire.js';

/** The line of the class or factory of a service. */
export type Definition = (key: string) => string | undefined;

interface Group {
  sign: Sign;
  readonly first: number;
  last: number;
  count: number;
  readonly routes: Set<string>;
  /** The newest ones. */
  readonly requests: Set<number>;
}

const MOST_GROUPS = 200;
const MOST_REQUESTS = 5;
const MOST_ROUTES = 8;

/** Everything that went wrong since the recording began, by cause. */
export class Troubles {
  /** In the order in which each occurred last. */
  readonly #groups = new Map<string, Group>();
  readonly #definition: Definition;

  constructor(definition: Definition = () => undefined) {
    this.#definition = definition;
  }

  /** Adds an occurrence. A cause beyond the number that is kept replaces the one that has not occurred for longest. */
  add(sign: Sign, at: number, request?: { readonly id: number; readonly name: string }): void {
    const { id } = sign;
    const group = this.#groups.get(id) ?? {
      sign,
      first: at,
      last: at,
      count: 0,
      routes: new Set(),
      requests: new Set(),
    };
    Object.assign(group, { sign, last: at, count: group.count + 1 });
    if (request) {
      if (group.routes.size < MOST_ROUTES) group.routes.add(request.name);
      newest(group.requests, request.id, MOST_REQUESTS);
    }
    this.#groups.delete(id);
    this.#groups.set(id, group);
    const [oldest = ''] = this.#groups.keys();
    if (this.#groups.size > MOST_GROUPS) this.#groups.delete(oldest);
  }

  has({ id }: Sign): boolean {
    return this.#groups.has(id);
  }

  /** The newest first. */
  all(): Trouble[] {
    return Array.from(this.#groups.values(), ({ sign, count, first, last, routes, requests }) => {
      const times = { count, first, last, routes: [...routes], requests: [...requests] };
      return { ...causeOf(sign, this.#definition), ...times };
    }).toReversed();
  }
}

function newest(ids: Set<number>, id: number, most: number): void {
  ids.delete(id);
  ids.add(id);
  const [oldest = id] = ids;
  if (ids.size > most) ids.delete(oldest);
}
