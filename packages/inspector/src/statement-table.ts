import { Durations } from './durations.js';
import type { StatementStats } from './wire.js';
import type { Where } from './where.js';

interface Sent {
  readonly sql: string;
  readonly took: number;
  readonly failed: boolean;
  readonly outside?: boolean;
  readonly place: Where | undefined;
  /** The request that sent it. */
  readonly route: string | undefined;
}

interface Row {
  readonly durations: Durations;
  readonly place: Where | undefined;
  readonly routes: Set<string>;
  failed: number;
  outside: number;
}

const MOST_TEXTS = 1000;
const MOST_ROUTES = 8;

/** The statements since the recording started, by their text. */
export class StatementTable {
  readonly #rows = new Map<string, Row>();

  add({ sql, took, failed, outside = false, place, route }: Sent): void {
    const row = this.#rows.get(sql) ?? this.#newRow(sql, place);
    if (!row) return;
    row.durations.add(took);
    if (failed) row.failed++;
    if (outside) row.outside++;
    if (route !== undefined && row.routes.size < MOST_ROUTES) row.routes.add(route);
  }

  all(): StatementStats[] {
    return Array.from(this.#rows, ([sql, { durations, place, routes, failed, outside }]) => ({
      sql,
      count: durations.count,
      failed,
      outside,
      totalMs: durations.total,
      p95: durations.percentile(95),
      longestMs: durations.longest,
      ...(place?.line !== undefined && { where: place.line }),
      routes: [...routes],
    }));
  }

  #newRow(sql: string, place: Where | undefined): Row | undefined {
    if (this.#rows.size >= MOST_TEXTS) return undefined;
    const row: Row = { durations: new Durations(), place, routes: new Set(), failed: 0, outside: 0 };
    this.#rows.set(sql, row);
    return row;
  }
}
