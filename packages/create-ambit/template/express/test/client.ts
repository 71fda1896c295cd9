import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Container } from '@ambit/container';
import { createApp } from '../src/app.ts';

/** A client of the application on a free port. */
export async function openClient(container: Container) {
  const server = createApp(container).listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const request = async <T>(path: string, init?: RequestInit) => {
    const response = await fetch(`http://localhost:${port}${path}`, init);
    return { status: response.status, body: (await response.json()) as T };
  };
  return {
    get: <T = unknown>(path: string) => request<T>(path),
    post: <T = unknown>(path: string, body: object) =>
      request<T>(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    close: async () => {
      server.close();
      await container.dispose();
    },
  };
}
