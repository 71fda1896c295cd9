import { type Address, formatAddress, parseAddress } from './address.js';

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
