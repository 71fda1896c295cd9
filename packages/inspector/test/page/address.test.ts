import { describe, expect, it } from 'vitest';
import { type Address, formatAddress, parseAddress, parseRef, refOf } from '../../page/address.js';

describe('an address of the page', () => {
  it.for<[string, Address]>([
    ['#/graph', { view: 'graph' }],
    ['#/requests/1f0c2a9b-17', { view: 'requests', item: '1f0c2a9b-17' }],
    ['#/requests?q=status%3A4xx+or+%22%3F%26%22', { view: 'requests', q: 'status:4xx or "?&"' }],
    ['#/requests/1f0c2a9b-17?at=1x3f9z', { view: 'requests', item: '1f0c2a9b-17', at: '1x3f9z' }],
    ['#/requests/1f0c2a9b-17?q=post', { view: 'requests', item: '1f0c2a9b-17', q: 'post' }],
  ])('%s is written as it is read', ([hash, address]) => {
    expect([parseAddress(hash), formatAddress(address)]).toEqual([address, hash]);
  });

  it('may be missing', () => {
    expect(parseAddress('')).toEqual({ view: '' });
  });

  it('names a request of a recording', () => {
    expect(refOf('1f0c2a9b', 17)).toBe('1f0c2a9b-17');
    expect(parseRef('1f0c2a9b-17')).toEqual({ boot: '1f0c2a9b', id: 17 });
    expect(['17', 'x', '1f0c2a9b-', '<b>-1'].map(parseRef)).toEqual([undefined, undefined, undefined, undefined]);
  });
});
