import type { RequestDetails, ScopeSpan, Step } from '../../src/wire.js';
import type { CodePlaces } from './code-places.js';
import { h } from '../dom.js';
import { lastOf } from '../format.js';

/** What went wrong in a request, above everything else. */
export function problemsOf({ steps, spans }: RequestDetails, places: CodePlaces): HTMLElement[] {
  return [
    ...spans.filter(({ where }) => where).map((span) => leak(span, places)),
    ...steps.filter(({ kind }) => kind === 'failed').map(failedCreation),
    ...steps.filter(({ kind, error }) => kind === 'rollback' && error !== undefined).map(rollback),
    ...steps.filter(({ kind }) => kind === 'no connection').map(noConnection),
  ];
}

function leak({ box, where = [], closed }: ScopeSpan, places: CodePlaces): HTMLElement {
  return problem(
    `A ${lastOf(box)} scope ${closed === undefined ? 'is still open' : 'was closed long'} after the response. It was opened at`,
    ...where.map((line) => places.show(line)),
  );
}

function failedCreation({ key = '', path = [], error }: Step): HTMLElement {
  return problem(
    `${key} could not be created: ${error ?? 'an error without a name'}`,
    ...(path.length > 1 ? [h('code', {}, path.join(' -> '))] : []),
  );
}

function rollback({ error = '' }: Step): HTMLElement {
  return problem(`Rolled back because of ${error}: nothing of the transaction is stored.`);
}

function noConnection({ error }: Step): HTMLElement {
  return problem(`No connection could be acquired${error === undefined ? '' : `: ${error}`}`);
}

function problem(title: string, ...lines: readonly Node[]): HTMLElement {
  return h('div', { class: 'problem' }, h('strong', {}, title), ...lines.map((line) => h('div', {}, line)));
}
