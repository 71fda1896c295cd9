import type { StepDetails } from './request-record.js';
import { withoutValues } from './sql-text.js';

/** What `transactionCheck()` of @ambit/transaction/check publishes. */
export interface FindingMessage {
  readonly kind: string;
  readonly place?: { readonly file: string; readonly line: number };
  readonly key?: string;
  readonly sql?: string;
}

export function findingStep({ kind, place, key, sql }: FindingMessage): StepDetails {
  return {
    found: kind,
    ...(place && { where: `${place.file}:${place.line}` }),
    ...(key !== undefined && { key }),
    ...(sql !== undefined && { sql: withoutValues(sql) }),
  };
}
