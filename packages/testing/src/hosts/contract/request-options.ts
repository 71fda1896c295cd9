import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { currentScope, hasTag, type IContainer, onStart, Registration, scope, singleton } from '@ambit/container';
import { describe, expect } from 'vitest';
import { Pause } from '../../tools.js';
import type { Call, ScopeOptions } from '../host.js';
import type { StageTest } from '../stage-test.js';

const greet = (call: Call): { kind: 'text'; text: string } => ({ kind: 'text', text: call.scope.resolve('IGreeting') });

/** The options that say how the scope of a request is opened. */
export function requestOptionContract(test: StageTest): void {
  describe('the options of request scopes', () => {
    test('tags replace the tag request', async ({ stage }) => {
      stage.app.addRegistration(
        Registration.fromFactory(() => 'hello, public')
          .pipe(singleton(), scope(hasTag('public')))
          .to('IGreeting'),
      );
      await stage.serveRequest(greet, { scopeOptions: { tags: ['request', 'public'] } });
      expect((await stage.get()).text).toBe('hello, public');
      expect(stage.scopes.count('request public')).toBe(1);
    });

    test.for([
      ['at once', (greeting: IContainer): void => void greeting.register('IGreeting', () => 'registered')],
      [
        'after a while',
        async (greeting: IContainer): Promise<void> => {
          await setImmediate();
          greeting.register('IGreeting', () => 'registered');
        },
      ],
    ] as const)('register binds data of the request %s, before the handler', async ([, bind], { stage }) => {
      const requests: object[] = [];
      const register: ScopeOptions['register'] = (requestScope, request) => {
        requests.push(request);
        return bind(requestScope);
      };
      await stage.serveRequest(greet, { scopeOptions: { register } });
      expect((await stage.get()).text).toBe('registered');
      expect(requests).toEqual([expect.any(Object)]);
    });

    test('what register throws fails the request, and its scope is disposed', async ({ stage }) => {
      const register = (): never => {
        throw new Error('no such user');
      };
      await stage.serveRequest(() => ({ kind: 'text', text: 'never' }), { scopeOptions: { register } });
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'no such user' }]);
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(1);
    });

    test('start runs onStart of request-scoped services before the handler', async ({ stage }) => {
      const started: unknown[] = [];
      stage.app.addRegistration(
        Registration.fromFactory((own) => own.resolve<AbortSignal>('IRequestSignal'))
          .pipe(
            singleton(),
            scope(hasTag('request')),
            onStart(async ({ aborted }) => {
              await setImmediate();
              started.push({ aborted });
            }),
          )
          .to('ISession'),
      );
      const handle = (): { kind: 'json'; body: unknown } => ({ kind: 'json', body: started });
      await stage.serveRequest(handle, { scopeOptions: { start: true } });
      expect((await stage.get()).text).toBe('[{"aborted":false}]');
    });

    test('a failure of onStart fails the request, and its scope is disposed', async ({ stage }) => {
      stage.app.addRegistration(
        Registration.fromFactory(() => ({}))
          .pipe(
            singleton(),
            scope(hasTag('request')),
            onStart(() => Promise.reject(new Error('no session'))),
          )
          .to('ISession'),
      );
      await stage.serveRequest(() => ({ kind: 'text', text: 'never' }), { scopeOptions: { start: true } });
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_START_FAILED', cause: { message: 'no session' } }]);
      await stage.quiet();
    });

    test('a client that leaves during onStart aborts its signal, and the handler is not called', async ({ stage }) => {
      const starting = new Pause();
      stage.app.addRegistration(
        Registration.fromFactory((own) => own.resolve<AbortSignal>('IRequestSignal'))
          .pipe(
            singleton(),
            scope(hasTag('request')),
            onStart(async (signal) => {
              void starting.here();
              if (!signal.aborted) await once(signal, 'abort');
            }),
          )
          .to('ISession'),
      );
      await stage.serve(
        [{ method: 'GET', path: '/', handle: () => expect.unreachable('a handler without a client') }],
        { scopeOptions: { start: true } },
      );
      const client = await stage.sends({ path: '/' });
      await starting.reached;
      client.reset();
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(1);
    });

    test('current makes the scope currentScope(), also behind what the handler awaits', async ({ stage }) => {
      const handle = async ({ scope: own }: Call): Promise<{ kind: 'json'; body: unknown }> => {
        const before = currentScope() === own;
        await stage.database.pool.query('SELECT 1');
        return { kind: 'json', body: { before, after: currentScope() === own } };
      };
      await stage.serve([{ method: 'POST', path: '/', handle }], { scopeOptions: { current: true } });
      const responses = await Promise.all([1, 2].map((a) => stage.request({ method: 'POST', path: '/', body: { a } })));
      for (const { text } of responses) expect(text).toBe('{"before":true,"after":true}');
    });

    test('current holds in register and in onStart', async ({ stage }) => {
      const seen: unknown[] = [];
      stage.app.addRegistration(
        Registration.fromFactory(() => ({}))
          .pipe(
            singleton(),
            scope(hasTag('request')),
            onStart(() => void seen.push(currentScope())),
          )
          .to('ISession'),
      );
      const handle = ({ scope: own }: Call): { kind: 'json'; body: unknown } => ({
        kind: 'json',
        body: seen.map((current) => current === own),
      });
      const register = (): unknown => seen.push(currentScope());
      await stage.serveRequest(handle, { scopeOptions: { current: true, start: true, register } });
      expect((await stage.get()).text).toBe('[true,true]');
    });

    test('without current there is no currentScope()', async ({ stage }) => {
      await stage.serveRequest(() => ({ kind: 'json', body: { scope: currentScope() !== undefined } }));
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_NO_SCOPE' }]);
    });

    test.for([
      { tags: 'request' as never },
      { register: 'user' as never },
      { start: 'yes' as never },
      { current: 1 as never },
    ])('an invalid option is refused: %o', async (scopeOptions, { stage }) => {
      const serving = stage.serveRequest(() => ({ kind: 'text', text: 'never' }), { scopeOptions });
      await expect(serving).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
    });
  });
}
