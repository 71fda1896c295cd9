import { PassThrough } from 'node:stream';
import { describe, expect } from 'vitest';
import { Pause, refused } from '../../tools.js';
import type { Call } from '../host.js';
import type { StageTest } from '../stage-test.js';

const signalOf = ({ scope }: Call): AbortSignal => scope.resolve<AbortSignal>('IRequestSignal');
const shutdownSignalOf = ({ scope }: Call): AbortSignal => scope.resolve<AbortSignal>('IShutdownSignal');

export function signalContract(test: StageTest): void {
  describe('IRequestSignal', () => {
    test('aborts when the client goes away, for each of the requests it has pipelined', async ({ stage }) => {
      const signals: AbortSignal[] = [];
      await stage.serve([
        {
          method: 'POST',
          path: '/',
          handle: async (call) => {
            const signal = signalOf(call);
            signals.push(signal);
            signal.addEventListener('abort', () => stage.happenings.tell());
            stage.happenings.tell();
            await new Promise<void>(() => undefined);
          },
        },
      ]);
      const client = await stage.client();
      const post = { method: 'POST', path: '/', body: { a: 1 } };
      client.send(post, post, post);
      await stage.happenings.until(() => signals.length === 3, 'all handlers work');
      expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
      client.reset();
      await stage.happenings.until(() => signals.every(({ aborted }) => aborted), 'all signals abort');
      await stage.quiet();
    });

    test('is aborted already when asked for after the client has disconnected', async ({ stage }) => {
      const work = new Pause();
      const asked = new Pause();
      let scope: Call['scope'] | undefined;
      await stage.serveRequest(async (call) => {
        scope = call.scope;
        const signal = signalOf(call);
        await work.here();
        expect(signal.aborted).toBe(true);
        void asked.here();
      });
      const client = await stage.sends({ path: '/' });
      await work.reached;
      client.leave();
      await stage.quiet();
      work.letGo();
      await asked.reached;
      expect(() => scope?.resolve('IRequestSignal')).toThrow(/AMBIT_DISPOSED/);
    });

    test.for(['GET', 'POST'] as const)('does not abort for a %s that is responded to', async (method, { stage }) => {
      let signal: AbortSignal | undefined;
      await stage.serve([
        {
          method,
          path: '/',
          handle: async (call) => {
            signal = signalOf(call);
            await stage.database.pool.query('SELECT 1');
            return { kind: 'json', body: { aborted: signal.aborted } };
          },
        },
      ]);
      const response = await stage.request({ method, path: '/', ...(method === 'POST' ? { body: { a: 1 } } : {}) });
      expect(response.text).toBe('{"aborted":false}');
      await stage.quiet();
      await stage.close();
      expect(signal?.aborted).toBe(false);
    });
  });

  describe('IShutdownSignal', () => {
    test('aborts when the server begins to close, so that an endless response ends, and nobody is cut off', async ({
      stage,
    }) => {
      const signals: AbortSignal[] = [];
      await stage.serveRequest((call) => {
        const signal = shutdownSignalOf(call);
        signals.push(signal);
        const stream = new PassThrough();
        stream.write('data: 1\n\n');
        signal.addEventListener('abort', () => stream.end('data: bye\n\n'));
        return { kind: 'stream', stream };
      });
      const clients = await Promise.all([stage.client(), stage.client()]);
      for (const client of clients) {
        client.send({ path: '/' });
        await client.hears('data: 1');
      }
      expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
      const closed = stage.close();
      for (const client of clients) expect((await client.response()).text).toBe('data: 1\n\ndata: bye\n\n');
      await closed;
      expect(signals.map(({ reason }) => (reason as { code?: unknown }).code)).toEqual([
        'AMBIT_DRAINING',
        'AMBIT_DRAINING',
      ]);
    });

    test('is aborted already when asked for after the server has begun to close', async ({ stage }) => {
      const work = new Pause();
      await stage.serveRequest(async (call) => {
        await work.here();
        return { kind: 'json', body: { aborted: shutdownSignalOf(call).aborted } };
      });
      const client = await stage.sends({ path: '/' });
      await work.reached;
      const closed = stage.close();
      await refused(stage.port);
      work.letGo();
      expect((await client.response()).text).toBe('{"aborted":true}');
      await closed;
    });

    test('does not abort for a client that disconnects', async ({ stage }) => {
      let signal: AbortSignal | undefined;
      const work = new Pause();
      await stage.serveRequest(async (call) => {
        signal = shutdownSignalOf(call);
        await work.here();
      });
      const client = await stage.sends({ path: '/' });
      await work.reached;
      client.leave();
      await stage.quiet();
      work.letGo();
      expect(signal?.aborted).toBe(false);
    });
  });
}
