import type { RouteStats } from '../../src/wire.js';

export interface RouteRow extends RouteStats {
  readonly errorShare: number;
  readonly statementsEach: number;
  /** Of the time of all requests. */
  readonly timeShare: number;
}

/** What the table shows besides what the server has counted. */
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
