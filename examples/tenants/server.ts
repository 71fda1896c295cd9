import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { disposeOnSignal } from '@ambit/express';
import { onExpress, onFastify } from './hosts.ts';
import { Shop } from './shop.ts';

const { DIRECTORY_URL = 'postgres://postgres@127.0.0.1:5432/directory', HOST = 'express', PORT = '3000' } = process.env;
const [CAPACITY, CONNECTIONS] = [process.env['CAPACITY'] ?? '100', process.env['CONNECTIONS'] ?? '4'].map(Number);

const shop = new Shop({
  directoryUrl: DIRECTORY_URL,
  ...(CAPACITY && { capacity: CAPACITY }),
  ...(CONNECTIONS && { connections: CONNECTIONS }),
});
if (HOST === 'fastify') {
  const server = await onFastify(shop);
  console.log(`Listening on ${await server.listen({ port: Number(PORT), host: '127.0.0.1' })}`);
  process.once('SIGTERM', () => void server.close());
} else {
  const server = createServer(onExpress(shop)).listen(Number(PORT), '127.0.0.1');
  disposeOnSignal(server, shop.container);
  await once(server, 'listening');
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}
