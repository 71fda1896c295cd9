import { beforeEach, describe, expect, it } from 'vitest';
import { Feed } from '../../page/stream/store.js';
import type { Hello } from '../../src/wire.js';
import { hello, tick } from '../support/requests.js';

describe('the feed of a tab', () => {
  let taken: string[];
  let fetches: PromiseWithResolversOf<Hello>[];
  let feed: Feed;
  const hears = (kind: 'hello' | 'tick', number: number): void =>
    feed.take({ kind, data: JSON.stringify(kind === 'hello' ? hello(number) : tick(number)) });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  beforeEach(() => {
    taken = [];
    fetches = [];
    const store = {
      begin: ({ number }: Hello) => void taken.push(`begin ${number}`),
      tick: ({ number }: { readonly number: number }) => void taken.push(`tick ${number}`),
    };
    feed = new Feed(store, () => {
      const fetched = withResolvers<Hello>();
      fetches.push(fetched);
      return fetched.promise;
    });
  });

  it('passes on the state and the changes after it', () => {
    hears('hello', 4);
    hears('tick', 5);
    hears('tick', 6);
    expect([taken, fetches.length]).toEqual([['begin 4', 'tick 5', 'tick 6'], 0]);
  });

  it('gets the state when it joins late, and ignores changes that are part of it', async () => {
    feed.take({ kind: 'live' });
    for (const number of [7, 8, 9]) hears('tick', number);
    fetches[0]?.resolve(hello(8));
    await settled();
    hears('tick', 10);
    expect(taken).toEqual(['begin 8', 'tick 9', 'tick 10']);
  });

  it('gets the state where a change is missing', async () => {
    hears('hello', 1);
    hears('tick', 3);
    fetches[0]?.resolve(hello(3));
    await settled();
    hears('tick', 4);
    expect(taken).toEqual(['begin 1', 'begin 3', 'tick 4']);
  });

  it('asks again with the next change where the state is not available', async () => {
    feed.take({ kind: 'live' });
    fetches[0]?.reject(new Error('not there'));
    await settled();
    hears('tick', 2);
    fetches[1]?.resolve(hello(2));
    await settled();
    expect(taken).toEqual(['begin 2']);
  });

  it('leaves a state that arrives after the stream has begun again', async () => {
    feed.take({ kind: 'live' });
    hears('hello', 0);
    fetches[0]?.resolve(hello(50));
    await settled();
    hears('tick', 1);
    expect(taken).toEqual(['begin 0', 'tick 1']);
  });
});

interface PromiseWithResolversOf<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

function withResolvers<T>(): PromiseWithResolversOf<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
