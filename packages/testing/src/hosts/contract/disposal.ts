import type { ServerResponse } from 'node:http';
import { hasTag, onDispose, Registration, scope, singleton } from '@ambit/container';
import { describe, expect, vi } from 'vitest';
import { Pause } from '../../tools.js';
import type { Call, Reply } from '../host.js';
import { CREATED, ORDER, type Stage } from '../stage.js';
import type { StageTest } from '../stage-test.js';

/** Registers `IResource` in scopes with the tag, ended by `end`. */
function addResource(stage: Stage, tag: string, end: () => unknown): void {
  stage.app.addRegistration(
    Registration.fromFactory(() => ({ name: 'resource' }))
      .pipe(singleton(), scope(hasTag(tag)), onDispose(end))
      .to('IResource'),
  );
}

const useResource = ({ scope: request }: Call): Reply => {
  request.resolve('IResource');
  return { kind: 'text', text: 'hello' };
};

export function disposalContract(test: StageTest): void {
  describe('the disposal of a scope', () => {
    test('disposes what the scope made, once', async ({ stage }) => {
      let ends = 0;
      addResource(stage, 'request', () => (ends += 1));
      await stage.serveRequest(useResource);
      await stage.get();
      await stage.quiet();
      await stage.close();
      expect(ends).toBe(1);
    });

    const outcomes = [
      { name: 'is undefined after a success', handle: () => CREATED, expected: undefined },
      {
        name: 'is what the handler threw, or the status of the response',
        handle: () => {
          throw new Error('the reason');
        },
        // On Express a middleware does not see errors.
        expected: expect.objectContaining({ message: expect.stringMatching(/^the reason$|status 500/) as string }),
      },
    ];
    const scopes = ['scope', 'transactionScope'] as const;
    test.for(outcomes.flatMap((outcome) => scopes.map((of) => ({ of, ...outcome }))))(
      'receives a reason, which $name ($of)',
      async ({ of, handle, expected }, { stage }) => {
        const reasons: unknown[] = [];
        await stage.serveOrder((call) => {
          call[of].defer?.((reason) => void reasons.push(reason));
          return handle();
        });
        await stage.order();
        await stage.quiet();
        expect(reasons).toEqual([expected]);
      },
    );

    // An error that a listener throws crashes the process.
    test.for(['finish', 'close'] as const)(
      'comes when the listeners of the response have been called for "%s", so that they may still resolve',
      async (event, { stage }) => {
        const seen: string[] = [];
        const handler = new Pause();
        let response: ServerResponse | undefined;
        await stage.serve([
          {
            method: 'GET',
            path: '/',
            wrap: { behind: (res) => void (response = res) },
            handle: async ({ scope: request }) => {
              response?.on(event, () => seen.push(request.resolve<{ requestId: string }>('IRequestContext').requestId));
              if (event === 'close') await handler.here();
              return CREATED;
            },
          },
        ]);
        const client = await stage.sends({ path: '/' });
        if (event === 'close') {
          await handler.reached;
          client.reset();
          await stage.scopes.allDisposed();
          handler.letGo();
        } else await client.response();
        await stage.quiet();
        expect(seen).toEqual([expect.any(String)]);
      },
    );

    test('receives the disconnect of the client as its reason', async ({ stage }) => {
      const reasons: unknown[] = [];
      const handler = new Pause();
      await stage.serveRequest(async ({ scope: request }) => {
        request.defer?.((reason) => void reasons.push(reason));
        await handler.here();
      });
      const client = await stage.sends({ method: 'GET', path: '/' });
      await handler.reached;
      client.reset();
      await stage.quiet();
      expect(reasons).toMatchObject([{ code: 'AMBIT_HTTP_CLIENT_DISCONNECTED' }]);
    });

    const failures = [
      {
        name: 'throws',
        end: () => {
          throw new Error('it would not end');
        },
      },
      { name: 'rejects', end: () => Promise.reject(new Error('it would not end')) },
    ];

    test.for(failures)(
      'that $name is reported to onDisposeError, and the client still has its response',
      async ({ end }, { stage }) => {
        addResource(stage, 'request', end);
        await stage.serveRequest(useResource);
        expect(await stage.get()).toMatchObject({ status: 200, text: 'hello' });
        await stage.happenings.until(() => stage.disposeErrors.length > 0, 'the failure is reported');
        await stage.close();
        expect(stage.disposeErrors).toMatchObject([{ errors: [{ message: 'it would not end' }] }]);
      },
    );

    test.for(failures)(
      'that $name after the handler failed does not hide why it failed',
      async ({ end }, { stage }) => {
        addResource(stage, 'request', end);
        await stage.serveRequest((call) => {
          call.scope.resolve('IResource');
          throw new Error('the reason');
        });
        expect((await stage.get()).status).toBe(500);
        await stage.happenings.until(() => stage.disposeErrors.length > 0, 'the failure is reported');
        expect(stage.errors).toMatchObject([{ message: 'the reason' }]);
        await stage.close();
        expect(stage.disposeErrors).toHaveLength(1);
      },
    );

    test.for(failures)('of a transaction that $name changes no outcome', async ({ end }, { stage }) => {
      addResource(stage, 'transaction', end);
      await stage.serveOrder(stage.orderThen((call) => void call.transactionScope.resolve('IResource')));
      expect((await stage.order()).status).toBe(201);
      await stage.quiet();
      expect(await stage.stored()).toBe(true);
      expect(stage.remarks).toMatchObject([{ code: 'AMBIT_TX_SCOPE_FAILED' }]);
    });

    test('of a transaction is reported to an onError that may itself fail, and changes no outcome then', async ({
      stage,
    }) => {
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      addResource(stage, 'transaction', () => Promise.reject(new Error('it would not end')));
      const onError = (): unknown => Promise.reject(new Error('the reporter is broken'));
      await stage.serveOrder(
        stage.orderThen((call) => void call.transactionScope.resolve('IResource')),
        { transaction: { onError } },
      );
      expect((await stage.order()).status).toBe(201);
      await stage.quiet();
      expect(await stage.stored()).toBe(true);
      expect(warn.mock.calls).toMatchObject([[{ code: 'AMBIT_TX_SCOPE_FAILED' }]]);
      warn.mockRestore();
    });

    test('does not delay the response', async ({ stage }) => {
      const end = new Pause();
      addResource(stage, 'request', end.here);
      await stage.serveRequest(useResource);
      const client = await stage.client();
      expect((await client.request({ path: '/' })).text).toBe('hello');
      expect(stage.scopes.open).toEqual(['request']);
      end.letGo();
      await stage.quiet();
    });
  });

  describe('an application container that was disposed', () => {
    test('took the open transactions with it', async ({ stage }) => {
      const work = new Pause();
      await stage.serveOrder(stage.orderThen(work.here));
      const client = await stage.sends(ORDER);
      await work.reached;
      await stage.app.dispose();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
      work.letGo();
      expect((await client.response()).status).toBe(500);
      expect(await stage.stored()).toBe(false);
    });

    test('makes every request an error, and none hang', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }));
      await stage.app.dispose();
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_DISPOSED' }]);
    });
  });
}
