import type { RequestDetails } from '../../src/wire.js';
import { h, setText } from '../dom.js';
import { readRequest } from './request-file.js';

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
