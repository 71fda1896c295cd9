import type { RequestDetails } from '../../src/wire.js';
import { copyText } from '../copy-button.js';
import { h } from '../dom.js';
import { menu, save } from '../menu.js';
import { writeRequest } from './request-file.js';
import { curlSkeleton, requestText } from './request-text.js';

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
