import { fixOf, idOf, type Sign } from './signs.js';
import type { Trouble } from './wire.js';

interface Group extends Sign {
  readonly id: string;
  readonly first: number;
  last: number;
  count: number;
  cause: string;
  readonly routes: Set<string>;
  requests: number[];
}

interface Abort {
  readonly sign: Sign;
  readonly at: number;
  readonly request: { readonly id: number; readonly name: string };
}

/** The line of the class or factory of a service. */
export type Definition = (key: string) => string | undefined;

/** So many different requests lose their clients together only where those are one program. */
const MANY_CLIENTS = 3;
/** A busy process hears of them one after the other. */
const ONE_MOMENT_MS = 250;
const MOST_GROUPS = 200;
const MOST_REQUESTS = 5;
const MOST_ROUTES = 8;

/** What went wrong since the recording started, by its cause. */
export class Troubles {
  readonly #groups = new Map<string, Group>();
  readonly #definition: Definition;
  /** The requests whose client has disconnected a moment ago. */
  readonly #aborts: Abort[] = [];
  #occurrences = 0;

  constructor(definition: Definition = () => undefined) {
    this.#definition = definition;
  }

  /** Many clients that disconnect at one moment have one cause, which is in none of their requests. */
  aborted(sign: Sign, at: number, request: Abort['request']): void {
    this.#groupAborts(at);
    this.#aborts.push({ sign, at, request });
  }

  #groupAborts(now: number): void {
    const newest = this.#aborts.at(-1);
    if (!newest || (now - newest.at <= ONE_MOMENT_MS && this.#aborts.length < MOST_GROUPS)) return;
    const all = this.#aborts.splice(0);
    const isOneMoment = newest.at - (all[0] ?? newest).at <= 4 * ONE_MOMENT_MS;
    const isOne = isOneMoment && new Set(all.map(({ sign }) => idOf(sign))).size >= MANY_CLIENTS;
    const together: Sign = {
      kind: 'aborted',
      cause: `${all.length} clients disconnected at one moment: a program with all of them ended, or a network failed`,
      about: 'together',
      fix: 'Nothing, if a client or a load test was stopped: no line of theirs is to blame.',
    };
    for (const { sign, at, request } of all) this.add(isOne ? together : sign, at, request);
  }

  /** Adds an occurrence. A cause beyond the number that is kept replaces the one that has not occurred for longest. */
  add(sign: Sign, at: number, request?: { readonly id: number; readonly name: string }): void {
    const id = idOf(sign);
    this.#occurrences++;
    const known = this.#groups.get(id);
    const group = known ?? { ...sign, id, first: at, last: at, count: 0, routes: new Set<string>(), requests: [] };
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

  /** How many there were, of whatever cause, until now. */
  occurrencesUntil(now: number): number {
    this.#groupAborts(now);
    return this.#occurrences;
  }

  /** The newest first. */
  all(now: number): Trouble[] {
    this.#groupAborts(now);
    return Array.from(this.#groups.values(), (group) => troubleOf(group, this.#definition)).toReversed();
  }
}

function troubleOf(
  { id, kind, cause, where: line, service, sql, error, fix, count, first, last, routes, requests }: Group,
  definition: Definition,
): Trouble {
  const where = line ?? (service === undefined ? undefined : definition(service));
  return {
    id,
    kind,
    cause,
    ...(where !== undefined && { where }),
    ...(sql !== undefined && { sql }),
    ...(error !== undefined && { error }),
    fix: fixOf({ kind, fix }),
    count,
    first,
    last,
    routes: [...routes],
    requests,
  };
}
