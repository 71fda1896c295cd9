import { byId, h } from './dom.js';
import { readStored, writeStored } from './stored.js';

const STORED = 'ambit-inspector-shortcuts';

export interface Shortcut {
  /** As `KeyboardEvent.key` has it. */
  readonly key: string;
  readonly about: string;
  readonly act: () => void;
}

/** What else the sheet tells: keys that lists and fields handle by themselves. */
const MORE: readonly (readonly [string, string])[] = [
  ['↑ ↓', 'choose a request'],
  ['Enter', 'go to the request that is chosen'],
  ['Esc', 'close it, or this sheet'],
];

/** Single keys for what is done often, and a sheet that lists them. They can be switched off: some people speak their keys. */
export function startShortcuts(shortcuts: readonly Shortcut[]): void {
  const sheet = byId('shortcuts') as HTMLDialogElement;
  const isOn = h('input', { type: 'checkbox', id: 'shortcuts-on' });
  isOn.checked = readStored(STORED) !== false;
  isOn.addEventListener('change', () => writeStored(STORED, isOn.checked));
  const open = (): void => {
    if (!sheet.open) sheet.showModal();
  };
  const all: readonly Shortcut[] = [...shortcuts, { key: '?', about: 'this sheet', act: open }];
  const close = h('button', { class: 'toggle', autofocus: '' }, 'Close');
  close.addEventListener('click', () => sheet.close());
  const line = (key: string, about: string): HTMLElement =>
    h('div', {}, h('dt', {}, h('kbd', {}, key)), h('dd', {}, about));
  sheet.append(
    h('h2', { id: 'shortcuts-title' }, 'Keyboard shortcuts'),
    h(
      'dl',
      {},
      ...all.map(({ key, about }) => line(key === ' ' ? 'Space' : key, about)),
      ...MORE.map(([key, about]) => line(key, about)),
    ),
    h('p', {}, isOn, h('label', { for: 'shortcuts-on' }, 'Single keys are shortcuts')),
    close,
  );
  byId('help').addEventListener('click', open);
  document.addEventListener('keydown', (event) => {
    if (!isOn.checked || sheet.open || event.defaultPrevented) return;
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const found = all.find(({ key }) => key === event.key);
    if (!found) return;
    event.preventDefault();
    found.act();
  });
}

/** Keys go to a field that takes text, and the space bar to a button. */
function isTyping({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false;
  if (key === ' ' && target.closest('button, a, summary, [role=tab]')) return true;
  return target.closest('input:not([type=checkbox]), select, textarea, [contenteditable]') !== null;
}
