import type { RequestDetails, ScopeSpan, Step } from '../../src/wire.js';
import { copyText, h, menu, save, setText } from '../dom.js';
import { lastOf } from '../format.js';
import { curlSkeleton, requestText } from './request-data.js';
import { readRequest, writeRequest } from './request-file.js';
import type { CodePlaces } from './request-view.js';

export interface Exported {
  readonly ref: string;
  readonly details: RequestDetails;
}

/** A menu that copies a request, or downloads it. */
export function exportMenu(current: () => Exported | undefined): HTMLElement {
  const copy = (name: string, text: (request: Exported) => string): HTMLButtonElement => {
    const button = h('button', { class: 'toggle' }, name);
    button.hidden = !navigator.clipboard;
    button.addEventListener('click', () => {
      const request = current();
      if (request) void copyText(text(request), button);
    });
    return button;
  };
  const download = h('button', { class: 'toggle' }, 'Download JSON');
  download.addEventListener('click', () => {
    const request = current();
    if (request) save(`request-${request.ref}.json`, 'application/json', writeRequest(request.details, request.ref));
  });
  return menu(
    'Export',
    copy('Copy as text', ({ details, ref }) => requestText(details, ref)),
    copy('Copy as JSON', ({ details, ref }) => writeRequest(details, ref)),
    copy('Copy as curl', ({ details }) => curlSkeleton(details, location.origin)),
    download,
  );
}

/** Opens a request from a file that this page, or another one, has written. */
export function importButton(onRequest: (request: RequestDetails) => void): HTMLElement {
  const input = h('input', { type: 'file', accept: '.json,application/json', hidden: '', 'aria-label': 'File' });
  const button = h('button', { class: 'toggle' }, 'Import a request');
  const problem = h('p', { class: 'hint', role: 'status' });
  button.addEventListener('click', () => input.click());
  input.addEventListener('change', () => void take());
  const take = async (): Promise<void> => {
    const file = input.files?.[0];
    if (!file) return;
    const read = readRequest(await file.text());
    // So that the same file can be chosen again.
    input.value = '';
    setText(problem, 'problem' in read ? read.problem : '');
    if ('request' in read) onRequest(read.request);
  };
  return h('div', { class: 'import' }, button, input, problem);
}

/** The failure of a request, which stands above everything else. */
export function problemsOf({ steps, spans }: RequestDetails, places: CodePlaces): HTMLElement[] {
  return [
    ...spans.filter(({ where }) => where).map((span) => leak(span, places)),
    ...steps.filter(({ kind }) => kind === 'failed').map(failedCreation),
    ...steps.filter(({ kind, error }) => kind === 'rollback' && error !== undefined).map(rollback),
    ...steps.filter(({ kind }) => kind === 'no connection').map(noConnection),
  ];
}

function leak({ box, where = [], closed }: ScopeSpan, places: CodePlaces): HTMLElement {
  return problemBox(
    `A ${lastOf(box)} scope ${closed === undefined ? 'is still open' : 'was closed long'} after the response. It was opened at`,
    ...where.map((line) => places.show(line)),
  );
}

function failedCreation({ key = '', path = [], error }: Step): HTMLElement {
  return problemBox(
    `${key} could not be created: ${error ?? 'an error without a name'}`,
    ...(path.length > 1 ? [h('code', {}, path.join(' -> '))] : []),
  );
}

function rollback({ error = '' }: Step): HTMLElement {
  return problemBox(`Rolled back because of ${error}: nothing of the transaction is stored.`);
}

function noConnection({ error }: Step): HTMLElement {
  return problemBox(`No connection could be acquired${error === undefined ? '' : `: ${error}`}`);
}

function problemBox(title: string, ...lines: readonly Node[]): HTMLElement {
  return h('div', { class: 'problem' }, h('strong', {}, title), ...lines.map((line) => h('div', {}, line)));
}
