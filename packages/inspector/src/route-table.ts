import { Durations } from './durations.js';
import type { RequestSummary, RouteStats } from './wire.js';

type Row = { durations: Durations } & Record<
  'aborted' | 'failed' | 'refused' | 'rolledBack' | 'statementMs' | 'statements',
  number
>;

/** If routes are made from data, those beyond this number are not counted. */
const MOST = 1000;

/** The requests since the recording started, by their route. */
export class RouteTable {
  readonly #rows = new Map<string, Row & Pick<RouteStats, 'method' | 'route'>>();

  /** Adds a request that is complete. */
  add(request: RequestSummary): void {
    const { method, route, state, status = 0, milliseconds = 0, outcome, statements, statementMs } = request;
    const row = this.#rowOf(method, route);
    if (!row) return;
    row.durations.add(milliseconds);
    if (state === 'aborted') row.aborted++;
    else if (status >= 500) row.failed++;
    else if (status >= 400) row.refused++;
    if (outcome !== undefined && outcome !== 'committed') row.rolledBack++;
    row.statements += statements;
    row.statementMs += statementMs;
  }

  all(): RouteStats[] {
    return Array.from(this.#rows.values(), ({ durations, ...row }) => ({
      ...row,
      count: durations.count,
      p50: durations.percentile(50),
      p95: durations.percentile(95),
      p99: durations.percentile(99),
      longest: durations.longest,
      total: durations.total,
    }));
  }

  #rowOf(method: string, route: string): Row | undefined {
    const id = `${method} ${route}`;
    const known = this.#rows.get(id);
    if (known || this.#rows.size >= MOST) return known;
    const none = { aborted: 0, failed: 0, refused: 0, rolledBack: 0, statements: 0, statementMs: 0 };
    const row = { method, route, durations: new Durations(), ...none };
    this.#rows.set(id, row);
    return row;
  }
}
