import type { AddressInfo } from 'node:net';
import { Container } from '@ambit/container';
import { expectNoOpenScopes } from '@ambit/container/tools';
import { expect, it } from 'vitest';
import { serveExpress, serveFastify, serveHono } from '../sse-server.js';

it.each([
  ['Express', serveExpress],
  ['Fastify', serveFastify],
  ['Hono', serveHono],
])(
  'on %s a stream ends when the server begins to close, and the shutdown does not reach its limit',
  async (_, serve) => {
    const container = new Container({ tags: ['application'] });
    const { server, stop } = await serve(container);
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/events`);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toContain('data: hello');
    // With AMBIT_DRAIN_TIMEOUT it would be rejected, after ten seconds.
    await stop();
    let last = await reader.read();
    while (!last.done) last = await reader.read();
    expectNoOpenScopes(container);
  },
);
