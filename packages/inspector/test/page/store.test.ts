import { beforeEach, describe, expect, it } from 'vitest';
import { type Change, Store } from '../../page/stream/store.js';
import { hello, summary, tick } from '../support/requests.js';

describe('the store of the page', () => {
  let store: Store;
  let changes: Change[];
  const ids = (): number[] => [...store.requests.keys()].toSorted((one, other) => one - other);

  beforeEach(() => {
    store = new Store();
    changes = [];
    store.onChange((_, change) => changes.push(change));
    store.begin(hello(0, { keep: 3, keepTrouble: 2 }));
  });

  it('keeps as many requests as the server does, and says which it has removed', () => {
    store.tick(
      tick(
        1,
        [1, 2, 3].map((id) => summary({ id })),
      ),
    );
    store.tick(
      tick(
        2,
        [4, 5].map((id) => summary({ id })),
      ),
    );
    expect([ids(), changes.at(-1)?.removed]).toEqual([
      [3, 4, 5],
      [1, 2],
    ]);
  });

  it('keeps those with trouble apart, however many others there are', () => {
    store.tick(tick(1, [summary({ id: 1 }), summary({ id: 2 })]));
    store.tick(tick(2, [summary({ id: 1, trouble: true })]));
    store.tick(
      tick(
        3,
        [3, 4, 5, 6].map((id) => summary({ id })),
      ),
    );
    expect(ids()).toEqual([1, 4, 5, 6]);
  });

  it('keeps the troubles until others are sent, and those of a recording before as well', () => {
    const trouble = {
      id: 'a',
      kind: 'N+1',
      cause: 'One',
      fix: 'Do',
      count: 1,
      first: 0,
      last: 0,
      routes: [],
      requests: [1],
    } as const;
    store.tick({ ...tick(1), troubles: [trouble] });
    store.tick(tick(2));
    expect([store.troubles, store.earlier]).toEqual([[trouble], []]);
    store.begin(hello(0, { boot: 'another' }));
    expect([store.troubles, store.earlier]).toEqual([[], [trouble]]);
    store.begin(hello(0, { boot: 'a third' }));
    expect(store.earlier).toEqual([trouble]);
  });

  it('forgets everything with a complete state, and says whether the recording is another one', () => {
    let starts = 0;
    store.onStart(() => starts++);
    store.tick(tick(1, [summary({ id: 1 })]));
    store.begin(hello(1));
    expect([starts, ids(), changes.at(-1)?.complete]).toEqual([0, [], true]);
    store.begin(hello(0, { boot: 'another' }));
    expect(starts).toBe(1);
  });
});
