import { signal } from '@ambit/test-kit';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Container } from '@ambit/container';
import { fastify } from 'fastify';
import { afterEach, describe, expect, test } from 'vitest';
import { containerPlugin } from '../src/index.js';

const sessions: ClientHttp2Session[] = [];

afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

/** A server, and a client whose session is established. */
async function connected({
  handler = () => 'hello',
  onPreClose,
}: { handler?: () => unknown; onPreClose?: (open: () => ClientHttp2Session) => unknown } = {}) {
  const container = new Container();
  const app = fastify({ http2: true });
  await app.register(containerPlugin, { container });
  app.get('/', handler);
  const open = (): ClientHttp2Session => {
    const session = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
    sessions.push(session);
    return session;
  };
  app.addHook('preClose', async () => void (await onPreClose?.(open)));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const session = open();
  await once(session, 'remoteSettings');
  return { app, container, session };
}

describe('a server that closes and speaks HTTP/2', () => {
  test('does not wait for a client that keeps its session idle', async () => {
    const { app, session } = await connected();
    const stream = session.request({ ':path': '/' });
    expect(await text(stream)).toBe('hello');
    await Promise.all([app.close(), once(session, 'close')]);
  });

  test('responds to the streams in progress, and takes no more on their session', async () => {
    const arrived = signal();
    const finish = signal();
    const { app, container, session } = await connected({
      handler: async () => {
        arrived.resolve();
        await finish.promise;
        return { disposed: container.disposed };
      },
    });
    const stream = session.request({ ':path': '/' });
    await arrived.promise;

    const closed = app.close();
    await once(session, 'goaway');
    finish.resolve();
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];

    expect(headers[':status']).toBe(200);
    expect(await text(stream)).toBe('{"disposed":false}');
    expect(session.closed).toBe(true);
    await closed;
    expect(container.disposed).toBe(true);
  });

  test('turns away who comes while it closes', async () => {
    const turnedAway = signal();
    const { app } = await connected({ onPreClose: (open) => once(open(), 'goaway').then(() => turnedAway.resolve()) });
    await Promise.all([app.close(), turnedAway.promise]);
    expect(app.server.listening).toBe(false);
  });
});
