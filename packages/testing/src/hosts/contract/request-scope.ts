import { Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import { Pause } from '../../tools.js';
import { collectGarbage } from '../garbage.js';
import type { StageTest } from '../stage-test.js';
import { REPLIES } from './responses.js';

const requestId = (scope: { resolve<T>(key: string): T }): string =>
  scope.resolve<{ requestId: string }>('IRequestContext').requestId;

export function requestScopeContract(test: StageTest): void {
  describe('a request', () => {
    test('has a scope tagged request of its own, and it is disposed with the response', async ({ stage }) => {
      const seen: string[] = [];
      await stage.serveRequest(({ scope }) => {
        seen.push(requestId(scope), requestId(scope));
        return { kind: 'json', body: { open: stage.scopes.open } };
      });
      const client = await stage.client();
      const response = await client.request({ path: '/' });
      expect(JSON.parse(response.text)).toEqual({ open: ['request'] });
      await client.request({ path: '/' });
      const [first, again, second] = seen;
      expect(again).toBe(first);
      expect(second).not.toBe(first);
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(2);
    });

    test.for(REPLIES)('responded to with $name disposes its scope', async ({ reply, status, text }, { stage }) => {
      await stage.serveRequest(reply);
      const response = await stage.get();
      expect(response.status).toBe(status);
      expect(response.text).toContain(text);
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(1);
    });

    test('keeps its scope open until the last byte of a stream', async ({ stage }) => {
      const heard = new Pause();
      await stage.serveRequest(({ scope }) => {
        const words = async function* words(): AsyncGenerator<string> {
          yield 'first ';
          await heard.here();
          yield requestId(scope);
        };
        return { kind: 'stream', stream: Readable.from(words()) };
      });
      const client = await stage.sends({ path: '/' });
      await client.hears('first ');
      heard.letGo();
      expect((await client.response()).text).toMatch(/^first [0-9a-f-]{36}$/);
    });

    test('with HEAD disposes its scope', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'json', body: { a: 1 } }));
      const response = await stage.request({ method: 'HEAD', path: '/' });
      expect(response).toMatchObject({ status: 200, text: '' });
      expect(response.headers['content-length']).toBe('7');
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(1);
    });

    test('for an unknown route disposes its scope', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: '' }));
      expect((await stage.get('/nowhere')).status).toBe(404);
      await stage.quiet();
    });

    test('is served on one connection a hundred times, without a listener left behind', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }));
      const client = await stage.client();
      for (let i = 0; i < 100; i += 1) await client.request({ path: '/' });
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(100);
    });
  });

  test('requests that are over are forgotten, though their connection stays open', async ({ stage }) => {
    const served: WeakRef<object>[] = [];
    await stage.serveRequest(({ scope }) => {
      served.push(new WeakRef(scope));
      return { kind: 'text', text: 'hello' };
    });
    const client = await stage.client();
    for (let i = 0; i < 20; i += 1) await client.request({ path: '/' });
    await stage.quiet();
    await collectGarbage();
    // The connection may know its last one, and Bun takes any number on the stack for a reference.
    expect(served.filter((scope) => scope.deref()).length).toBeLessThan(4);
    expect((await client.request({ path: '/' })).status).toBe(200);
  });

  describe('a request that fails', () => {
    test.for([
      {
        name: 'throws',
        work: () => {
          throw new Error('secret');
        },
      },
      { name: 'rejects', work: () => Promise.reject(new Error('secret')) },
    ])('because its handler $name is responded to by the error handler', async ({ work }, { stage }) => {
      await stage.serveRequest(work);
      const response = await stage.get();
      expect(response.status).toBe(500);
      expect(JSON.parse(response.text)).toEqual({ type: 'about:blank', status: 500, detail: 'Internal error' });
      expect(stage.errors).toMatchObject([{ message: 'secret' }]);
      await stage.quiet();
    });

    test('because its handler hands over an error is responded to by the error handler', async ({ stage }) => {
      await stage.serveRequest(({ fail }) => fail(new Error('secret')));
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'secret' }]);
      await stage.quiet();
    });

    test('after its response has been sent keeps the response', async ({ stage }) => {
      await stage.serveRequest(async ({ respond }) => {
        await respond({ kind: 'json', body: { a: 1 } });
        throw new Error('too late');
      });
      expect(await stage.get()).toMatchObject({ status: 200, text: '{"a":1}' });
      await stage.quiet();
    });

    test('because its response cannot be serialised is responded to with an error', async ({ stage }) => {
      const circular: Record<string, unknown> = {};
      circular['self'] = circular;
      await stage.serveRequest(() => ({ kind: 'json', body: circular }));
      expect((await stage.get()).status).toBe(500);
      await stage.quiet();
    });

    test('in the middle of a stream loses its connection and its scope', async ({ stage }) => {
      const broken = async function* broken(): AsyncGenerator<string> {
        yield 'first';
        throw new Error('the source broke');
      };
      await stage.serveRequest(() => ({ kind: 'stream', stream: Readable.from(broken()) }));
      const client = await stage.sends({ path: '/' });
      await client.closed();
      await stage.quiet();
    });
  });
}
