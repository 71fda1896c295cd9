import { ms } from './names.js';
import { BUSY_POOL, causeOf, fixOf, NEXT_RUN, type Sign, type TroubleKind } from './signs.js';
import type { Mutable, RequestRecord } from './requests.js';
import type { Trouble } from './wire.js';

/** The line of the class or factory of a service. */
export type Definition = (key: string) => string | undefined;

interface Group extends Mutable<Pick<Trouble, 'count' | 'failed' | 'first' | 'last' | 'lost'>> {
  sign: Sign;
  readonly routes: Set<string>;
  /** The newest ones. */
  readonly requests: Set<number>;
  /** The milliseconds for which each holder, `GET /orders, src/orders.ts:1:2`, had a connection meanwhile. */
  readonly shares: Map<string, number>;
  /** The number of other requests that it has harmed. */
  victims: number;
  readonly victimRoutes: Set<string>;
  /** The sentences on the timers and loops that it has ended. */
  readonly stopped: string[];
}

const MOST_GROUPS = 200;
const MOST_REQUESTS = 5;
const MOST_ROUTES = 8;
const MOST_HOLDERS = 3;
const MOST_SHARES = 100;
/** A failed response is not for their sake. */
const HARMLESS: ReadonlySet<TroubleKind> = new Set([
  'N+1',
  'aborted',
  'slow',
  'leak',
  'finding',
  'growing',
  'many rows',
  'never stopped',
  'failed disposal',
]);

/** Everything that went wrong since the recording began, by cause. */
export class Troubles {
  /** In the order in which each occurred last. */
  readonly #groups = new Map<string, Group>();

  /** Adds an occurrence. A cause beyond the number that is kept replaces the one that has not occurred for longest. */
  add(sign: Sign, at: number, request?: Pick<RequestRecord, 'failed' | 'id' | 'name'>): void {
    const { kind, lost = 0, fails = false, shares = [] } = sign;
    const name = nameOf(sign);
    const group = this.#groups.get(name) ?? groupOf(sign, at);
    const failed = fails || (request?.failed === true && !HARMLESS.has(kind));
    Object.assign(group, { sign, last: at, count: group.count + 1 });
    group.failed += Number(failed);
    group.lost += lost;
    for (const { name: holder, where, took } of shares)
      addTo(group.shares, where === undefined ? holder : `${holder}, ${where}`, took);
    if (request) {
      if (group.routes.size < MOST_ROUTES) group.routes.add(request.name);
      newest(group.requests, request.id);
    }
    this.#groups.delete(name);
    this.#groups.set(name, group);
    const [oldest = ''] = this.#groups.keys();
    if (this.#groups.size > MOST_GROUPS) this.#groups.delete(oldest);
  }

  /** It is no news any more. */
  forget(sign: Sign): void {
    this.#groups.delete(nameOf(sign));
  }

  has(sign: Sign): boolean {
    return this.#groups.has(nameOf(sign));
  }

  /** Each incident once, by harm: what follows from another one counts there. */
  all(definition?: Definition): Trouble[] {
    const heads: Group[] = [];
    // Those that follow from nothing are first, and those that follow from any of the others last.
    const rankOf = ({ sign: { kind, into = [] } }: Group): number => (kind === 'stopped' ? MOST_GROUPS : into.length);
    const all = [...this.#groups.values()].toSorted((one, other) => rankOf(one) - rankOf(other));
    for (const group of all) {
      const head = group.sign.into?.map((cause) => heads.find((one) => isAbout(one, cause))).find(Boolean);
      if (head) merge(head, group);
      // A machine that was busy is no trouble of the application.
      else if (group.sign.into?.[0] !== 'blocked loop') heads.push(merge(groupOf(group.sign, group.first), group));
    }
    return heads.toSorted(byHarm).map((group) => read(group, definition));
  }
}

function read(group: Group, definition?: Definition): Trouble {
  const { sign, shares, victims, victimRoutes, stopped, routes, requests, ...counts } = group;
  const own = causeOf(sign, definition);
  const shown = { ...own, ...(counts.count > 1 && shares.size > 0 && waitsOf(group)) };
  const also =
    victims === 0 || sign.kind === 'fails each time'
      ? ''
      : `; ${victims} other requests were slow or failed for it: ${[...victimRoutes].join(', ')}`;
  const cause = [`${shown.cause}${also}`, ...stopped].join('. ');
  const fix = stopped.length > 0 ? `${NEXT_RUN}. ${shown.fix}` : shown.fix;
  const where = shown.where ?? own.where;
  // The caller is that of its own line.
  const caller = where === own.where ? own.caller : undefined;
  return { ...shown, cause, fix, where, caller, ...counts, routes: [...routes], requests: [...requests] };
}

const nameOf = ({ id, kind, about = '' }: Sign): string => (kind === 'pool' ? `${id} ${about}` : id);

const groupOf = (sign: Sign, at: number): Group => {
  const sets = { routes: new Set<string>(), requests: new Set<number>(), victimRoutes: new Set<string>() };
  const counts = { count: 0, failed: 0, lost: 0, victims: 0 };
  return { sign, first: at, last: at, ...counts, shares: new Map(), stopped: [], ...sets };
};

/** @param cause - an id, a kind, or a kind with a line or a route */
function isAbout({ sign: { id, kind, where, pool = '' }, routes }: Group, cause: string): boolean {
  if (cause === id) return true;
  if (cause === kind || !cause.startsWith(`${kind} `)) return cause === kind;
  const about = cause.slice(kind.length + 1);
  return kind === 'pool' ? about === pool : lineOf(about) === lineOf(where) || routes.has(about);
}

/** A statement and its error name two columns of one line. */
const lineOf = (place = ''): string => place.replace(/:\d+$/, '');

/** Adds another group to one, which is of the same kind or its cause. */
function merge(head: Group, { sign, ...other }: Group): Group {
  head.first = Math.min(head.first, other.first);
  head.last = Math.max(head.last, other.last);
  if (sign.kind === 'stopped' && head.sign.kind !== 'stopped') {
    head.stopped.push(sign.cause);
    return head;
  }
  head.failed += other.failed;
  head.lost += other.lost;
  const isSame = sign.kind === head.sign.kind;
  for (const route of other.routes) (isSame ? head.routes : head.victimRoutes).add(route);
  head[isSame ? 'count' : 'victims'] += other.count;
  if (!isSame) return head;
  for (const [holder, took] of other.shares) addTo(head.shares, holder, took);
  for (const request of other.requests) newest(head.requests, request);
  return head;
}

const OVER_MS = 600_000;
/** They last until somebody changes something. */
const LASTING: ReadonlySet<TroubleKind> = new Set(['graph', 'leak']);

/** Troubles that go on are first; among them those that lost something, then by users, then by time. Single oddities that harmed nobody follow. */
function byHarm(one: Group, other: Group): number {
  const now = Date.now();
  const [a, b] = [one, other].map(({ sign, count, failed, victims, lost, last }) => [
    Number(now - last < OVER_MS || LASTING.has(sign.kind)),
    Number(count + victims > 1 || failed > 0),
    // A full pool is one of its results.
    Number(sign.kind === 'second connection'),
    failed,
    count + victims,
    Math.round(lost),
    last,
  ]) as [number[], number[]];
  return a.map((number, i) => (b[i] ?? 0) - number).find((difference) => difference !== 0) ?? 0;
}

/** Several waits for a connection, by the holders of all of them. */
function waitsOf({ count, lost, shares }: Pick<Group, 'count' | 'lost' | 'shares'>) {
  const holders = [...shares].toSorted(([, one], [, other]) => other - one).slice(0, MOST_HOLDERS);
  const all = [...shares.values()].reduce((sum, took) => sum + took, 0);
  const most = holders.map(([who, took]) => `${Math.round((100 * took) / all)} % ${who}`);
  const cause = `Requests waited for a connection ${count} times, for ${ms(lost)} in all; of the time of the connections took ${most.join('; ')}`;
  const [[first, longest] = ['', 0]] = holders;
  return { cause, fix: longest < all / 2 ? BUSY_POOL : fixOf('pool'), where: first.split(', ').at(1) };
}

function addTo(shares: Map<string, number>, holder: string, took: number): void {
  if (shares.has(holder) || shares.size < MOST_SHARES) shares.set(holder, (shares.get(holder) ?? 0) + took);
}

function newest(ids: Set<number>, id: number): void {
  ids.delete(id);
  ids.add(id);
  const [oldest = id] = ids;
  if (ids.size > MOST_REQUESTS) ids.delete(oldest);
}
