import type { RequestSummary } from '../src/wire.js';
import { h } from './dom.js';

/** The status of the response, or the state of a request without one. */
export function stateBadge({ state, status = 0 }: RequestSummary): HTMLElement {
  if (state === 'open') return h('span', { class: 'badge' }, 'open');
  if (state === 'aborted') return h('span', { class: 'badge bad' }, 'aborted');
  const mood = status >= 500 ? 'bad' : status >= 400 ? 'warn' : '';
  return h('span', { class: `badge ${mood}` }, String(status));
}

export function outcomeBadge({ outcome }: RequestSummary): HTMLElement | undefined {
  if (outcome === undefined) return undefined;
  return h('span', { class: outcome === 'committed' ? 'badge good' : 'badge bad' }, outcome);
}

/** Whether the request failed in some way. */
export function isTrouble({ state, status = 0, outcome, leaks }: RequestSummary): boolean {
  return state === 'aborted' || status >= 500 || leaks > 0 || (outcome !== undefined && outcome !== 'committed');
}

/** What the filter looks at. */
export function searchText({ method, route, state, status, outcome, leaks }: RequestSummary): string {
  return [method, route, state, status, outcome, leaks > 0 ? 'leak' : ''].join(' ').toLowerCase();
}
