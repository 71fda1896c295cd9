import { hasTag, onDispose, Registration, scope, singleton } from '@ambit/container';
import { describe, expect } from 'vitest';
import type { Stage, StageTest } from '@ambit/testing/hosts';
import { Pause } from '@ambit/test-kit';

function addResource(stage: Stage, tag: string, dispose: () => Promise<void>): void {
  stage.app.addRegistration(
    Registration.fromFactory(() => ({ name: 'resource' }))
      .pipe(singleton(), scope(hasTag(tag)), onDispose(dispose))
      .to('IResource'),
  );
}

/** An error reaches the client, whatever hangs. */
export function hangingDisposerContract(test: StageTest): void {
  describe('an error response', () => {
    test('does not wait for a disposer of the request scope that hangs', async ({ stage }) => {
      const hanging = new Pause();
      addResource(stage, 'request', hanging.here);
      await stage.serveRequest((call) => {
        call.scope.resolve('IResource');
        throw new Error('the reason');
      });
      expect((await stage.get()).status).toBe(500);
      await hanging.reached;
      expect(stage.errors).toMatchObject([{ message: 'the reason' }]);
      hanging.letGo();
    });

    test('waits no longer than endTimeoutMs for a disposer of the transaction scope that hangs', async ({ stage }) => {
      const hanging = new Pause();
      addResource(stage, 'transaction', hanging.here);
      await stage.serveOrder(
        async (call) => {
          call.transactionScope.resolve('IResource');
          await stage.insertOrder(call);
          throw new Error('the reason');
        },
        { transaction: { endTimeoutMs: 1500 } },
      );
      expect((await stage.order()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'the reason' }]);
      expect(stage.remarks).toMatchObject([{ code: 'AMBIT_TX_SCOPE_FAILED' }]);
      expect(await stage.stored()).toBe(false);
      hanging.letGo();
    });
  });
}
