import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, type Mock, vi } from 'vitest';
import { Audience } from '../src/audience.js';

describe('the audience', () => {
  let show: { begin: Mock<() => void>; end: Mock<() => void>; hello: () => string; tick: () => string };
  let server: Server;

  const start = async (lingerMs: number): Promise<void> => {
    show = { begin: vi.fn<() => void>(), end: vi.fn<() => void>(), hello: () => 'hello', tick: () => 'tick' };
    const audience = new Audience(show, { tickMs: 10, lingerMs });
    server = createServer((request, response) => audience.join(request, response)).listen(0);
    await once(server, 'listening');
  };
  const open = async (): Promise<IncomingMessage> => {
    const request = get({ port: (server.address() as AddressInfo).port, agent: false });
    request.on('error', () => undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    return response.setEncoding('utf8');
  };

  afterEach(() => server.closeAllConnections());

  it('is told everything first, and then what changes', async () => {
    await start(60_000);
    const page = await open();
    let heard = '';
    for await (const chunk of page) if ((heard += String(chunk)).includes('tick')) break;
    expect(heard).toBe('retry: 500\nevent: hello\ndata: "hello"\n\ndata: "tick"\n\n');
  });

  it('begins the show with the first page, and ends it a while after the last one left', async () => {
    await start(10);
    const [one, other] = [await open(), await open()];
    expect(show.begin).toHaveBeenCalledTimes(1);
    one.destroy();
    other.destroy();
    await vi.waitFor(() => expect(show.end).toHaveBeenCalledTimes(1));
    await open();
    expect(show.begin).toHaveBeenCalledTimes(2);
  });

  it('goes on when a page comes back soon', async () => {
    await start(60_000);
    (await open()).destroy();
    const page = await open();
    await once(page, 'data');
    expect(show.begin).toHaveBeenCalledTimes(1);
    expect(show.end).not.toHaveBeenCalled();
  });

  it('is let go when the server closes', async () => {
    await start(60_000);
    const page = await open();
    page.resume();
    server.close();
    await Promise.all([once(page, 'end'), once(server, 'close')]);
    expect(show.end).toHaveBeenCalledTimes(1);
  });

  it('has room for twenty', async () => {
    await start(60_000);
    const pages = await Promise.all(Array.from({ length: 21 }, open));
    expect(pages.filter(({ statusCode }) => statusCode === 503)).toHaveLength(1);
  });
});
