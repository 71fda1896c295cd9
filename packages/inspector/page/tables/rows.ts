import type { RouteStats, StartUp, StartUpService } from '../../src/wire.js';

export interface Sorting {
  readonly column: string;
  readonly descending: boolean;
}

/** Sorts by the values of one column; equal rows stay in the order in which the server sent them. */
export function sorted<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => number | string,
  descending: boolean,
): readonly Row[] {
  const sign = descending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: valueOf(row) }))
    .toSorted((one, other) => sign * compare(one.value, other.value))
    .map(({ row }) => row);
}

function compare(one: number | string, other: number | string): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one).localeCompare(String(other), 'en');
}

export interface RouteRow extends RouteStats {
  readonly errorShare: number;
  readonly statementsEach: number;
  /** Of the time of all requests. */
  readonly timeShare: number;
}

/** Adds the shares that the server does not count. */
export function routeRows(routes: readonly RouteStats[]): RouteRow[] {
  const all = routes.reduce((sum, { total }) => sum + total, 0);
  return routes.map((route) => ({
    ...route,
    errorShare: part(route.failed, route.count),
    statementsEach: part(route.statements, route.count),
    timeShare: part(route.total, all),
  }));
}

function part(some: number, all: number): number {
  return all === 0 ? 0 : some / all;
}

export interface StartUpRow extends StartUpService {
  /** Where its bar begins, and how long it is, as parts of the whole. */
  readonly from: number;
  readonly part: number;
  /** Without what was created for it meanwhile. */
  readonly own: number;
}

export type StartUpOrder = 'cost' | 'time';

/** The services of a start-up as bars on one axis, from the start of the process until `length`. */
export function startUpRows({ services }: StartUp, length: number, order: StartUpOrder): StartUpRow[] {
  const rows = services.map((service, i) => ({
    ...service,
    from: (service.at - service.took) / length,
    part: service.took / length,
    own: service.took - nestedIn(services, i),
  }));
  return rows.toSorted((one, other) => (order === 'cost' ? other.own - one.own : one.from - other.from));
}

/** Until the last service was complete: the first request may come hours later. */
export function startUpLength({ services, inspected }: StartUp): number {
  return services.reduce((longest, { at }) => Math.max(longest, at), Math.max(inspected, 1));
}

/** Dependencies are complete before the service is, so they stand before it. */
function nestedIn(services: readonly StartUpService[], index: number): number {
  const { at, took } = services[index] ?? { at: 0, took: 0 };
  let begin = at;
  let sum = 0;
  for (let i = index - 1; i >= 0; i--) {
    const inner = services[i];
    if (!inner || inner.at - inner.took < at - took || inner.at > begin) continue;
    sum += inner.took;
    begin = inner.at - inner.took;
  }
  return sum;
}
