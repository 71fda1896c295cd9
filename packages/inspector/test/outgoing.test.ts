import { once } from 'node:events';
import { Agent, createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Call } from '../src/recorder.js';
import { outgoingCalls } from '../src/outgoing.js';

const { addRequest } = Agent.prototype as unknown as { addRequest: unknown };

describe('a call to another server', () => {
  let server: Server;
  let port: number;
  let calls: (Call & { readonly error: unknown })[];
  let stop: () => void;

  beforeEach(async () => {
    server = createServer((_, response) => void response.end('done')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    calls = [];
    const recorder = { called: (call: Call, error: unknown) => void calls.push({ ...call, error }) };
    stop = outgoingCalls(recorder as never, { now: () => 0, current: () => ({ begins: () => undefined }) as never });
  });
  afterEach(() => {
    stop();
    server.close();
  });

  const ask = async (address: string, headers: Record<string, string> = {}): Promise<void> => {
    const [response] = (await once(get(address, { headers }), 'response')) as [NodeJS.ReadableStream];
    response.resume();
    await once(response, 'end');
  };

  it.each([
    ['its host and port', '', {}],
    ['no password, path and query', 'canary:canary@', {}],
  ])('by node:http is named by %s', async (_, user, headers) => {
    await ask(`http://${user}127.0.0.1:${port}/canary?canary`, headers);
    expect(calls).toMatchObject([{ host: `127.0.0.1:${port}` }]);
  });

  it('by node:http has the line that made it, also on a connection that is kept alive', async () => {
    for (let i = 0; i < 2; i++) await ask(`http://127.0.0.1:${port}/`);
    const line = expect.stringMatching(/^packages\/inspector\/test\/outgoing\.test\.ts:\d+:\d+$/) as string;
    expect(calls).toMatchObject([{ place: { line } }, { place: { line } }]);
    stop();
    expect(Agent.prototype).toHaveProperty('addRequest', addRequest);
  });

  it('by node:http is named by where it went, whatever its header says', async () => {
    await ask(`http://127.0.0.1:${port}/`, { host: 'canary.example' });
    expect(calls).toMatchObject([{ host: '127.0.0.1' }]);
  });

  it('by fetch is named by its host and port, and the line that made it; a failed one too', async () => {
    await (await fetch(`http://127.0.0.1:${port}/canary?canary`)).text();
    server.close();
    server.closeAllConnections();
    await fetch(`http://127.0.0.1:${port}/canary`).catch(() => undefined);
    expect(calls.map(({ host, error }) => [host, error === undefined])).toEqual([
      [`127.0.0.1:${port}`, true],
      [`127.0.0.1:${port}`, false],
    ]);
    expect(calls[0]!.place!.line).toMatch(/^packages\/inspector\/test\/outgoing\.test\.ts:\d+:\d+$/);
  });

  it('is named by no part of an origin that is none', async () => {
    const { channel } = await import('node:diagnostics_channel');
    for (const origin of ['http://canary:canary@orders.example:8080', new URL('https://orders.example'), 'canary']) {
      const request = { origin };
      channel('undici:request:create').publish({ request });
      channel('undici:request:trailers').publish({ request });
    }
    expect(calls.map(({ host }) => host)).toEqual(['orders.example:8080', 'orders.example', 'another server']);
  });
});
