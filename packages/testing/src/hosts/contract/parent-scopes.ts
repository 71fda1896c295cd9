import { once } from 'node:events';
import type { Container, IContainer } from '@ambit/container';
import { describe, expect } from 'vitest';
import { Pause } from '../../tools.js';
import type { Call } from '../host.js';
import type { StageTest } from '../stage-test.js';

const greet = (call: Call): { kind: 'text'; text: string } => ({ kind: 'text', text: call.scope.resolve('IGreeting') });

/** The scope above that of a request: the application container, or what a function returns. */
export function parentScopeContract(test: StageTest): void {
  describe('a function in place of the application container', () => {
    test.for([
      ['returns', (tenant: Container) => tenant],
      ['resolves to', async (tenant: Container) => tenant],
    ] as const)('%s the scope above the request scope', async ([, give], { stage }) => {
      const tenant = stage.app.createScope({ tags: ['tenant'] });
      tenant.register('IGreeting', () => 'hello, tenant');
      await stage.serveRequest(greet, { scopeOptions: { parent: () => give(tenant) } });
      expect((await stage.get()).text).toBe('hello, tenant');
      await stage.scopes.until(1);
      expect(stage.scopes.open).toEqual(['tenant']);
      await tenant.dispose();
    });

    test.for([
      [
        'throws',
        () => {
          throw new Error('no such tenant');
        },
      ],
      ['rejects with', () => Promise.reject(new Error('no such tenant'))],
    ] as const)('fails the request with what it %s, and opens nothing', async ([, parent], { stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: 'never' }), { scopeOptions: { parent } });
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'no such tenant' }]);
      expect(stage.scopes.count('request')).toBe(0);
    });

    test('that returns no container fails the request, and the error says so', async ({ stage }) => {
      const parent = (): never => undefined as never;
      await stage.serveRequest(() => ({ kind: 'text', text: 'never' }), { scopeOptions: { parent } });
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_OPTION' }]);
    });

    test('opens nothing for a client that leaves while it works', async ({ stage }) => {
      const looksUp = new Pause();
      const hasSeen = new Pause();
      const parent = async (request: object): Promise<IContainer> => {
        const disconnection = disconnectionOf(request);
        void looksUp.here();
        await disconnection;
        void hasSeen.here();
        return stage.app;
      };
      await stage.serve(
        [{ method: 'GET', path: '/', handle: () => expect.unreachable('a handler without a client') }],
        { scopeOptions: { parent } },
      );
      const client = await stage.sends({ path: '/' });
      await looksUp.reached;
      client.reset();
      await hasSeen.reached;
      await stage.close();
      expect(stage.scopes.count('request')).toBe(0);
    });
  });
}

/** Resolves when the client of a request has disconnected, whatever the host calls its request. */
async function disconnectionOf(request: object): Promise<void> {
  const {
    env,
    raw = env?.incoming,
    socket = raw?.socket,
    req,
    signal = (req?.raw ?? req)?.signal,
  } = request as {
    env?: { incoming?: { socket: NodeJS.EventEmitter } };
    raw?: { socket: NodeJS.EventEmitter };
    socket?: NodeJS.EventEmitter;
    req?: { signal: AbortSignal; raw?: { signal: AbortSignal } };
    signal?: AbortSignal;
  };
  if (socket) await new Promise((resolve) => socket.once('close', resolve));
  else if (signal && !signal.aborted) await once(signal, 'abort');
}
