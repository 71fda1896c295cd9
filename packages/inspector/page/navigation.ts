import { type Address, formatAddress, parseAddress } from './address.js';
import { byId, h } from './dom.js';

export function currentAddress(): Address {
  return parseAddress(location.hash);
}

/** `push` where the button "back" is to return to what was before. */
export function showAddress(address: Address, how: 'push' | 'replace' = 'replace'): void {
  const hash = formatAddress(address);
  if (hash === location.hash) return;
  if (how === 'push') history.pushState(undefined, '', hash);
  else history.replaceState(undefined, '', hash);
}

/** A value that the browser keeps for the page; undefined where the user does not let it. */
export function readStored(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null');
  } catch {
    return undefined;
  }
}

export function writeStored(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // The browser has no space left, or allows none.
  }
}

const STORED = 'ambit-inspector-shortcuts';

export interface Shortcut {
  /** As `KeyboardEvent.key` has it. */
  readonly key: string;
  readonly about: string;
  readonly act: () => void;
}

/** Keys that lists and fields handle themselves; the sheet lists them, too. */
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

/** The views, as the pattern "tabs" of ARIA has it: arrows move, and what is moved to is shown. The address says which. */
export function startTabs(onShow: (panel: string) => void): (panel: string) => void {
  const tabs = [...document.querySelectorAll<HTMLButtonElement>('[role=tab]')];
  const nameOf = (tab: HTMLElement): string => tab.getAttribute('aria-controls') ?? '';

  const show = (panel: string): void => {
    for (const tab of tabs) {
      const name = nameOf(tab);
      const chosen = name === panel;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      // Only as far as necessary, in a row of tabs that is wider than the window.
      if (chosen) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      document.getElementById(name)?.toggleAttribute('hidden', !chosen);
    }
    if (currentAddress().view !== panel) showAddress({ view: panel });
    onShow(panel);
  };
  const showAddressed = (): void => {
    const { view } = currentAddress();
    show(tabs.some((tab) => nameOf(tab) === view) ? view : 'graph');
  };

  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener('click', () => show(nameOf(tab)));
    tab.addEventListener('keydown', ({ key }) => {
      const steps: Record<string, number> = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: -1 };
      const step = steps[key];
      const next = step === undefined ? undefined : tabs.at(step % tabs.length);
      next?.focus();
      next?.click();
    });
  }
  addEventListener('hashchange', showAddressed);
  showAddressed();
  return show;
}

/** The keys that the tabs declare. */
export function tabShortcuts(show: (panel: string) => void): Shortcut[] {
  const tabs = [...document.querySelectorAll<HTMLElement>('[role=tab][aria-keyshortcuts]')];
  return tabs.map((tab) => ({
    key: tab.getAttribute('aria-keyshortcuts') ?? '',
    about: (tab.firstChild?.textContent ?? '').trim(),
    act: () => show(tab.getAttribute('aria-controls') ?? ''),
  }));
}
