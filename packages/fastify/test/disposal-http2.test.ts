import { signal } from '@ambit/test-kit';
import { once } from 'node:events';
import {
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type Http2ServerRequest,
  type IncomingHttpHeaders,
} from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { fastify } from 'fastify';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { containerPlugin } from '../src/index.js';
import { application, leftovers } from './support/app.js';

const pending = (): Promise<never> => new Promise(() => undefined);
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
    return pending();
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
    await vi.waitUntil(() => made.signals.length === 1, { interval: 1 });

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
