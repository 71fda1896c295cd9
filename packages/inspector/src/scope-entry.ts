import type { RequestRecord } from './request-record.js';
import type { ServiceCount } from './service-counts.js';
import type { Where } from './where.js';

/** What is known of a scope that is open. Holds no container, so that nothing lives longer for being watched. */
export interface ScopeEntry {
  readonly id: number;
  readonly box: string;
  readonly opened: number;
  /** It was there before the page was. */
  readonly atLeast: boolean;
  readonly request: RequestRecord | undefined;
  readonly lane: number | undefined;
  readonly where: Where | undefined;
  readonly services: ServiceCount[];
  inTransaction: boolean;
  /** It passed the limit. */
  old: boolean;
  /** It passed the limit after its request was over. */
  leaked: boolean;
}

export function newEntry(
  known: Pick<ScopeEntry, 'atLeast' | 'box' | 'id' | 'opened' | 'request' | 'where'>,
): ScopeEntry {
  const lane = known.request?.openLane(known.box, known.opened);
  return { ...known, lane, services: [], inTransaction: false, old: false, leaked: false };
}
