import { type Container, hasTag, type IContainer, onDispose, Registration, scope, singleton } from '@ambit/container';
import { signal } from '@ambit/test-kit';
import { fastify, type FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { containerPlugin } from '../src/index.js';
import { application, leftovers, get, serve } from './support/app.js';

const pending = (): Promise<never> => new Promise(() => undefined);

describe('a request scope is disposed although', () => {
  test('a hook that runs when it is responded to fails', async () => {
    const made = await application({
      before: (app) =>
        app.addHook('onResponse', (_request, _reply, done) => done(new Error('no more room in the log'))),
    });
    made.app.get('/', () => 'hello');
    await (await (await serve(made.app)).fetch('/')).text();
    expect(await leftovers(made)).toEqual([]);
  });

  test('its container takes no registrations, and it waits behind another on a socket that dies', async () => {
    const container: IContainer = {
      resolve: (key: string) => made.container.resolve(key) as never,
      register: () => expect.unreachable('read-only'),
      dispose: () => made.container.dispose(),
      createScope: ({ tags }) => Object.assign(made.container.createScope({ tags }), { register: container.register }),
    };
    const made = await application({ plugin: { disposeOn: 'response', container } });
    const failed = signal();
    made.app.get('/first', pending).get('/second', pending);
    made.app.setErrorHandler((_error, { url }) => {
      if (url === '/second') failed.resolve();
      return pending();
    });
    const socket = await (await serve(made.app)).socket();

    socket.write(get('/first') + get('/second'));
    await failed.promise;
    socket.destroy();

    expect(await leftovers(made)).toEqual([]);
  });
});

describe('a scope that fails to dispose', () => {
  const failing = (request: FastifyRequest): string => {
    (request.container as Container).defer(() => Promise.reject(new Error('cannot end')));
    return 'hello';
  };

  test.each(['throws', 'rejects'])(
    'is reported to the log of the request by default, and when the reporter %s',
    async (how) => {
      const lines: string[] = [];
      const app = fastify({ logger: { level: 'error', stream: { write: (line) => void lines.push(line) } } });
      const { container } = await application();
      const onDisposeError = (): never => {
        throw new Error('the reporter failed');
      };
      await app.register(async (silent) => {
        await silent.register(containerPlugin, { container });
        silent.get('/silent', failing);
      });
      await app.register(async (loud) => {
        const reporter = how === 'throws' ? onDisposeError : async () => onDisposeError();
        await loud.register(containerPlugin, { container, onDisposeError: reporter });
        loud.get('/loud', failing);
      });

      await app.inject('/silent');
      await app.inject('/loud');

      await expect.poll(() => lines).toHaveLength(2);
      expect(lines[0]).toContain('cannot end');
      expect(lines[1]).toContain('the reporter failed');
      await app.close();
    },
  );
});

const never = new Promise<void>(() => undefined);

async function withHangingDisposer(disposeTimeoutMs: number) {
  const errors: unknown[] = [];
  const made = await application({ plugin: { disposeTimeoutMs, onDisposeError: (error) => void errors.push(error) } });
  made.container.addRegistration(
    Registration.fromFactory(() => ({ name: 'resource' }))
      .pipe(
        singleton(),
        scope(hasTag('request')),
        onDispose(() => never),
      )
      .to('IResource'),
  );
  return { ...made, errors };
}

test('close() waits no longer than disposeTimeoutMs for a disposer that hangs, and rejects', async () => {
  const { app } = await withHangingDisposer(20);
  app.get('/', (request) => request.container.resolve('IResource'));
  expect((await app.inject('/')).statusCode).toBe(200);
  await expect(app.close()).rejects.toMatchObject({ code: 'AMBIT_HTTP_DISPOSE_TIMEOUT' });
});

test.each([-1, Number.NaN, '5' as unknown as number])('disposeTimeoutMs: %s is refused', async (disposeTimeoutMs) => {
  await expect(application({ plugin: { disposeTimeoutMs } })).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
});
