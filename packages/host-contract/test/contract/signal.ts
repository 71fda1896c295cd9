import { describe, expect } from 'vitest';
import { Pause } from '../../src/index.js';
import type { Call } from '../hosts/host.js';
import type { StageTest } from '../support/stage-test.js';

const signalOf = ({ scope }: Call): AbortSignal => scope.resolve<AbortSignal>('IRequestSignal');

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
      const client = await stage.client();
      client.send({ path: '/' });
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
}
