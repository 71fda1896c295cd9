import { signal } from '@preact/signals';
import { type Address, formatAddress, parseAddress } from './address.js';

/** The views, by the name in their address. */
export const VIEWS: Readonly<Record<string, { readonly name: string; readonly key: string }>> = {
  now: { name: 'Now', key: 'n' },
  requests: { name: 'Requests', key: 'r' },
  graph: { name: 'Graph', key: 'g' },
  totals: { name: 'Totals', key: 't' },
};

/** What the address says; an address that names no view is that of the first one. */
function current(): Address {
  const read = parseAddress(location.hash);
  return Object.hasOwn(VIEWS, read.view) ? read : { view: 'now' };
}

export const address = signal<Address>(current());
addEventListener('hashchange', () => (address.value = current()));
addEventListener('popstate', () => (address.value = current()));

/** `push` where the button "back" is to return to what was before. */
export function go(to: Address, how: 'push' | 'replace' = 'push'): void {
  const hash = formatAddress(to);
  if (hash !== location.hash) {
    if (how === 'push') history.pushState(undefined, '', hash);
    else history.replaceState(undefined, '', hash);
  }
  address.value = to;
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
