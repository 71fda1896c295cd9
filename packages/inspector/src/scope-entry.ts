import type { RequestRecord } from './request-record.js';
import type { ServiceCount } from './service-counts.js';
import type { Where } from './where.js';

/** What is known about an open scope. It keeps no reference to the container, so the inspector keeps nothing in memory. */
export interface ScopeEntry {
  readonly id: number;
  readonly box: string;
  readonly opened: number;
  /** It was open before the page was. */
  readonly atLeast: boolean;
  readonly request: RequestRecord | undefined;
  readonly span: number | undefined;
  readonly where: Where | undefined;
  readonly services: ServiceCount[];
  inTransaction: boolean;
  /** It is older than the limit. */
  old: boolean;
  /** It is older than the limit, and its request is complete. */
  leaked: boolean;
}

export function newEntry(
  known: Pick<ScopeEntry, 'atLeast' | 'box' | 'id' | 'opened' | 'request' | 'where'>,
): ScopeEntry {
  const span = known.request?.openSpan(known.box, known.opened);
  return { ...known, span, services: [], inTransaction: false, old: false, leaked: false };
}
