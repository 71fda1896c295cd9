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

/** What the transaction check has found. */
export function findingBadge({ findings }: RequestSummary): HTMLElement | undefined {
  return findings > 0 ? h('span', { class: 'badge bad' }, findings === 1 ? 'check' : `check ×${findings}`) : undefined;
}

/** What the filter looks at. */
export function searchText({ method, route, state, status, outcome, leaks, findings }: RequestSummary): string {
  return [method, route, state, status, outcome, leaks > 0 ? 'leak' : '', findings > 0 ? 'check' : '']
    .join(' ')
    .toLowerCase();
}
