import { describe, expect } from 'vitest';
import type { Step } from '../../tools.js';
import { ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

const moments: readonly { name: string; when: 'before' | 'after'; step: Step; stored: boolean }[] = [
  { name: 'before BEGIN', when: 'before', step: 'begin', stored: false },
  { name: 'between BEGIN and the order', when: 'after', step: 'begin', stored: false },
  { name: 'before the order', when: 'before', step: 'query', stored: false },
  { name: 'between the order and COMMIT', when: 'after', step: 'query', stored: false },
  { name: 'before COMMIT', when: 'before', step: 'commit', stored: false },
  { name: 'after COMMIT', when: 'after', step: 'commit', stored: true },
];

/** The connection is cut between any two statements: by an operator, a restart, a broken line. */
export function killContract(test: StageTest): void {
  describe('a connection that is cut', () => {
    test.for(moments)(
      '$name is not checked out again, and the client hears no lie',
      async ({ when, step, stored }, { stage }) => {
        await stage.serveOrder(stage.createOwnOrder);
        let cuts = 0;
        stage.pool[when](step, async (connection) => {
          if ((cuts += 1) === 1) await stage.database.kill(connection);
        });
        const client = await stage.client();
        const response = await client.request({ ...ORDER, body: { id: stage.orderId } });
        expect(response.status).toBe(stored ? 201 : 503);
        expect(await stage.stored()).toBe(stored);
        await stage.quiet();

        const second: string = crypto.randomUUID();
        expect((await client.request({ ...ORDER, body: { id: second } })).status).toBe(201);
        expect(await stage.stored(second)).toBe(true);
      },
    );

    test('before ROLLBACK hides nothing of what the handler failed for', async ({ stage }) => {
      await stage.serveOrder(stage.orderThen(() => Promise.reject(new Error('the reason'))));
      stage.pool.before('rollback', (connection) => stage.database.kill(connection));
      expect((await stage.order()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'the reason' }]);
      await stage.quiet();
      expect(stage.pool.steps.at(-1)).toBe('destroy');
      expect(await stage.stored()).toBe(false);
    });
  });
}
