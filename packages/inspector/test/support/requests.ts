import type { RequestDetails, RequestSummary, State, Step } from '../../src/wire.js';

/** A request that went well, but for what is given. */
export function summary(given: Partial<RequestSummary> = {}): RequestSummary {
  return {
    id: 1,
    method: 'GET',
    route: '/api/users/:id',
    arrived: 0,
    state: 'responded',
    status: 200,
    milliseconds: 5,
    failedAttempts: 0,
    open: 0,
    statements: 0,
    statementMs: 0,
    troubles: [],
    trouble: false,
    ...given,
  };
}

/** A message to the page. */
export function message(requests: readonly RequestSummary[] = [], given: Partial<State> = {}): State {
  const transactions = { open: 0, committed: 0, refused: 0, 'rolled back': 0, unknown: 0 };
  const now = { arrived: 0, kinds: [], scopes: [], holders: [], transactions };
  return { boot: 'one', version: 1, now, requests, keep: 3, keepTrouble: 2, always: false, ...given };
}

export function details(given: Partial<RequestDetails> = {}): RequestDetails {
  return { ...summary(), steps: [], dropped: 0, ...given };
}

export function statement(sql: string, given: Partial<Step> = {}): Step {
  return { kind: 'statement', at: 0, took: 1, sql, ...given };
}
