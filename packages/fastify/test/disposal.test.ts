import { type Container, hasTag, type IContainer, onDispose, Registration, scope, singleton } from '@ambit/container';
import { signal } from '@ambit/test-kit';
import { fastify, type FastifyRequest } from 'fastify';
import { afterEach, describe, expect, test } from 'vitest';
import { once } from 'node:events';
import {
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type Http2ServerRequest,
  type IncomingHttpHeaders,
} from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { containerPlugin } from '../src/index.js';
import { application, get, leftovers, serve } from './support/app.js';

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

const neverResponds = (): Promise<never> => new Promise(() => undefined);
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A server whose first hook is `before`, and a session with it. */
async function connected(before?: (request: Http2ServerRequest) => unknown) {
  const made = await application();
  const app = fastify({ http2: true });
  if (before) app.addHook('onRequest', async ({ raw }) => void (await before(raw)));
  await app.register(containerPlugin, { container: made.container });
  const signals: AbortSignal[] = [];
  const arrived = signal();
  app.get('/', ({ container }) => {
    signals.push(container.resolve('IRequestSignal'));
    return 'hello';
  });
  app.get('/never', ({ container }) => {
    signals.push(container.resolve('IRequestSignal'));
    arrived.resolve();
    return neverResponds();
  });
  const open = async () => {
    await app.listen({ port: 0, host: '127.0.0.1' });
    const session = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
    closing.push(
      () => session.destroy(),
      () => app.close(),
    );
    return session;
  };
  return { ...made, app, arrived, open, signals };
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** The fields of `GET /`, packed. */
const GET_ROOT = Buffer.from([0x82, 0x84, 0x86, 0x41, 4, ...Buffer.from('test')]);

/** A frame of HTTP/2, of a session or of its first stream. */
function frame(type: number, flags = 0, payload?: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload?.length ?? 0, 0, 3);
  head.set([type, flags], 3);
  head.writeUInt32BE(payload ? 1 : 0, 5);
  return Buffer.concat([head, payload ?? Buffer.alloc(0)]);
}

function reset(stream: ClientHttp2Stream): void {
  stream.on('error', () => undefined).close(constants.NGHTTP2_CANCEL);
}

describe('the scope of an HTTP/2 request is disposed although', () => {
  test('it is one of many streams of its session', async () => {
    const made = await connected();
    const session = await made.open();

    const stream = session.request({ ':path': '/' });
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    stream.resume();
    session.request({ ':path': '/never' }).on('error', () => undefined);
    await made.arrived.promise;
    session.destroy();

    expect(headers[':status']).toBe(200);
    expect(await leftovers(made)).toEqual([]);
    expect(made.signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  });

  test('the client has reset its stream before the request came to the plugin', async () => {
    const held = signal();
    const handled = signal();
    const made = await connected(async ({ stream }) => {
      held.resolve();
      if (!stream.closed) await once(stream, 'close');
    });
    made.app.addHook('onRequest', async () => handled.resolve());
    const session = await made.open();

    const stream = session.request({ ':path': '/never' });
    await held.promise;
    reset(stream);
    await handled.promise;

    expect(await leftovers(made)).toEqual([]);
  });

  test('the client resets a stream that asks for a head', async () => {
    const made = await connected();
    const session = await made.open();

    const stream = session.request({ ':path': '/never', ':method': 'HEAD' });
    await made.arrived.promise;
    reset(stream);

    expect(await leftovers(made)).toEqual([]);
    expect(made.signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('the client resets the stream with NO_ERROR before it has its response, and its session may close', async () => {
    const made = await connected();
    (await made.open()).destroy();
    const client = connect((made.app.server.address() as AddressInfo).port, '127.0.0.1');
    closing.push(() => client.destroy());
    client.resume();

    client.write(Buffer.concat([PREFACE, frame(4), frame(1, 5, GET_ROOT), frame(3, 0, Buffer.alloc(4))]));
    await expect.poll(() => made.signals, { interval: 1 }).toHaveLength(1);

    expect(await leftovers(made)).toEqual([]);
    await made.app.close();
  });

  test('it connects, which nobody serves', async () => {
    const made = await connected();
    const session = await made.open();

    const [headers] = (await once(session.request({ ':method': 'CONNECT', ':authority': 'test' }), 'response')) as [
      IncomingHttpHeaders,
    ];

    expect(headers[':status']).toBe(405);
  });

  test('it asks for a head, and has it', async () => {
    const made = await connected();
    const session = await made.open();

    const [headers] = (await once(session.request({ ':path': '/', ':method': 'HEAD' }), 'response')) as [
      IncomingHttpHeaders,
    ];

    expect(headers[':status']).toBe(200);
    expect(await leftovers(made)).toEqual([]);
    expect(made.signals.map(({ aborted }) => aborted)).toEqual([false]);
  });
});
