import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawClient } from '@ambit/host-contract';
import { expect, onTestFinished, test } from 'vitest';
import { ServiceProcess } from './support/service-process.js';

const CLIENTS = 8;
const ORDERS_EACH = 500;
const ORDER = { method: 'POST', path: '/api/orders', body: { items: [{ productId: 'apple', quantity: 1 }] } };

test('what an order needs dies young on Fastify, its transaction included', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const service = new ServiceProcess(
    { DATA_DIR: folder, HOST_VARIANT: 'fastify' },
    { execArgv: ['--trace-gc-nvp', '--max-semi-space-size=2'] },
  );
  const port = await service.port();
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const client = await RawClient.connect(port);
      for (let sent = 0; sent < ORDERS_EACH; sent += 1) expect((await client.request(ORDER)).status).toBe(201);
      client.leave();
    }),
  );
  service.kill('SIGTERM');
  const { output } = await service.exit;
  // Node 26 writes JSON where earlier ones write name=value.
  const promoted = [...output.matchAll(/\bgc"?[=:]"?s\b.*\bpromoted"?[=:](\d+)/g)].map(([, bytes]) => Number(bytes));
  // Start-up and compilation survive by right.
  const settled = promoted.slice(Math.ceil(promoted.length / 2));
  expect(settled.length).toBeGreaterThan(3);
  expect(settled.reduce((sum, bytes) => sum + bytes, 0) / settled.length).toBeLessThan(150_000);
});
