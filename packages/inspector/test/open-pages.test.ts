import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, type Mock, vi } from 'vitest';
import { OpenPages } from '../src/open-pages.js';

describe('the open pages', () => {
  let feed: { start: Mock<() => void>; stop: Mock<() => void>; hello: () => string; tick: () => string };
  let server: Server;

  const start = async (lingerMs: number): Promise<void> => {
    feed = { start: vi.fn<() => void>(), stop: vi.fn<() => void>(), hello: () => 'hello', tick: () => 'tick' };
    const pages = new OpenPages(feed, { tickMs: 10, lingerMs, lookMs: 1000 });
    server = createServer((request, response) => pages.open(request, response)).listen(0);
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

  it('start the feed with the first page, and stop it some time after the last one was closed', async () => {
    await start(10);
    const [one, other] = [await open(), await open()];
    expect(feed.start).toHaveBeenCalledTimes(1);
    one.destroy();
    other.destroy();
    await vi.waitFor(() => expect(feed.stop).toHaveBeenCalledTimes(1), 120_000);
    await open();
    expect(feed.start).toHaveBeenCalledTimes(2);
  });

  it('keep the feed running when a page reconnects soon', async () => {
    await start(60_000);
    (await open()).destroy();
    const page = await open();
    await once(page, 'data');
    expect(feed.start).toHaveBeenCalledTimes(1);
    expect(feed.stop).not.toHaveBeenCalled();
  });

  it('are twenty at most', async () => {
    await start(60_000);
    const pages = await Promise.all(Array.from({ length: 21 }, open));
    expect(pages.filter(({ statusCode }) => statusCode === 503)).toHaveLength(1);
  });
});
