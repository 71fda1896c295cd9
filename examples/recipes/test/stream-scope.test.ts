import { once } from 'node:events';
import { Container } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { describe, expect, it } from 'vitest';
import { inStreamScope } from '../stream-scope.js';
import { scopeClosed } from '../../test/support/application.js';

async function* numbers(): AsyncGenerator<number> {
  yield 1;
  yield 2;
}

describe('inStreamScope', () => {
  it('disposes the scope of work without a stream when the work is done', async () => {
    const app = new Container();
    expect(await inStreamScope(app, {}, () => 'done')).toBe('done');
    await expect(inStreamScope(app, {}, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(openScopes(app)).toEqual([]);
  });

  it('disposes the scope of a stream that was read to its end', async () => {
    const app = new Container();
    const read: number[] = [];
    const closed = scopeClosed(app);
    for await (const number of await inStreamScope(app, {}, numbers)) read.push(number, openScopes(app).length);
    await closed;
    expect(read).toEqual([1, 1, 2, 1]);
  });

  it('disposes the scope of a stream whose reader stops', async () => {
    const app = new Container();
    const closed = scopeClosed(app);
    for await (const number of await inStreamScope(app, {}, numbers)) if (number === 1) break;
    await closed;
    expect(openScopes(app)).toEqual([]);
  });

  it('disposes the scope of a stream that is closed before it was read', async () => {
    const app = new Container();
    const closed = scopeClosed(app);
    const stream = await inStreamScope(app, {}, numbers);
    await stream.return(undefined);
    await closed;
    expect(openScopes(app)).toEqual([]);
  });

  it('disposes the scope of a stream that fails, and hands its error on', async () => {
    const app = new Container();
    const closed = scopeClosed(app);
    const stream = await inStreamScope(app, {}, async function* () {
      yield 1;
      throw new Error('the source failed');
    });
    await stream.next();
    await expect(stream.next()).rejects.toThrow('the source failed');
    await closed;
    expect(openScopes(app)).toEqual([]);
  });

  it('closes the stream when its signal aborts, and disposes the scope after that', async () => {
    const app = new Container();
    const controller = new AbortController();
    const log: string[] = [];
    const stream = await inStreamScope(app, { signal: controller.signal }, async function* (scope, signal) {
      scope.defer(() => log.push('disposed'));
      try {
        yield 1;
        await once(new EventTarget(), 'never', { signal });
      } finally {
        log.push('closed');
      }
    });
    await stream.next();
    const closed = scopeClosed(app);
    const waiting = stream.next();
    controller.abort();
    await expect(waiting).rejects.toThrow('aborted');
    await closed;
    expect(log).toEqual(['closed', 'disposed']);
  });
});
