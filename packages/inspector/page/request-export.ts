import type { RequestDetails } from '../src/wire.js';
import { copyText } from './copy-button.js';
import { h } from './dom.js';
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
    if (request) save(`request-${request.ref}.json`, writeRequest(request.details, request.ref));
  });
  const menu = h(
    'details',
    { class: 'menu' },
    h('summary', { class: 'toggle' }, 'Export'),
    h(
      'div',
      { class: 'menu-items' },
      copy('Copy as text', ({ details, ref }) => requestText(details, ref)),
      copy('Copy as JSON', ({ details, ref }) => writeRequest(details, ref)),
      copy('Copy as curl', ({ details }) => curlSkeleton(details, location.origin)),
      download,
    ),
  );
  closeOutside(menu);
  return menu;
}

/** As menus do: Escape and whatever else gets the focus or a click close it. */
function closeOutside(menu: HTMLDetailsElement): void {
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector('summary')?.focus();
  });
  for (const kind of ['click', 'focusin'])
    document.addEventListener(kind, ({ target }) => {
      if (menu.open && target instanceof Node && !menu.contains(target)) menu.open = false;
    });
}

function save(name: string, content: string): void {
  const href = URL.createObjectURL(new Blob([content], { type: 'application/json' }));
  h('a', { href, download: name }).click();
  URL.revokeObjectURL(href);
}
