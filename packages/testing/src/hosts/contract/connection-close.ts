import { describe, expect } from 'vitest';
import { Pause, refused } from '../../tools.js';
import type { StageTest } from '../stage-test.js';

/** The `Connection` header of responses while the server closes. */
export function connectionCloseContract(test: StageTest): void {
  describe('a server that closes', () => {
    test('closes a connection on which nothing was ever sent', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }));
      const silent = await stage.client();
      await Promise.all([stage.close(), silent.closed()]);
      expect(silent.received).toBe(0);
    });

    test('says `Connection: close` on the response to a request that a middleware kept', async ({ stage }) => {
      const kept = new Pause();
      await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }), {
        before: async (_req, next) => {
          await kept.here();
          next();
        },
      });
      const client = await stage.sends({ path: '/' });
      await kept.reached;
      const closed = stage.close();
      await refused(stage.port);
      kept.letGo();
      expect((await client.response()).headers['connection']).toBe('close');
      await closed;
    });

    test('turns no pipelined request away that overtook another in a middleware', async ({ stage }) => {
      const first = new Pause();
      const second = new Pause();
      await stage.serve(
        [
          { method: 'GET', path: '/a', handle: () => ({ kind: 'text', text: 'response a' }) },
          {
            method: 'GET',
            path: '/b',
            handle: async () => {
              await second.here();
              return { kind: 'text', text: 'response b' };
            },
          },
        ],
        {
          before: async ({ url }, next) => {
            if (url === '/a') await first.here();
            next();
          },
        },
      );
      const client = await stage.sends({ path: '/a' }, { path: '/b' });
      await Promise.all([first.reached, second.reached]);
      const closed = stage.close();
      await refused(stage.port);
      first.letGo();
      second.letGo();
      expect([(await client.response()).text, (await client.response()).text]).toEqual(['response a', 'response b']);
      await closed;
    });
  });
}
