import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { containerMiddleware, resolve, withTransaction } from '@ambit/express';
import { context, propagation, trace } from '@opentelemetry/api';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import express from 'express';
import { afterEach, expect, it } from 'vitest';
import { observe } from '../apm.js';
import { createApp } from '../payments.js';

let server: Server;
afterEach(() => {
  server.close();
  // They are global, and the worker has other tests.
  for (const each of [trace, propagation, context]) each.disable();
});

it('continues the trace of the caller, from the scope of the request to each statement', async () => {
  const app = createApp();
  await app.start();
  const exporter = new InMemorySpanExporter();
  observe(app, exporter);
  const routes = express().use(containerMiddleware(app));
  routes.post('/', withTransaction(), async (req, res) => {
    await resolve(req, 'IPayments').store({ id: 'coffee', amount: 4 });
    res.status(201).end();
  });
  server = routes.listen(0);
  await once(server, 'listening');
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const { port } = server.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  });
  await expect.poll(() => exporter.getFinishedSpans().map(({ name }) => name)).toContain('request scope');
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name)).toEqual(['INSERT payments', 'transaction', 'request scope']);
  expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
  await app.dispose();
});
