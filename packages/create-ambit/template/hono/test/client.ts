import type { Container } from '@ambit/container';
import { createApp } from '../src/app.ts';

/** A client of the application, which needs no port. */
export async function openClient(container: Container) {
  const app = createApp(container);
  const request = async (path: string, init?: RequestInit) => {
    const response = await app.request(path, init);
    return { status: response.status, body: await response.json() };
  };
  return {
    get: (path: string) => request(path),
    post: (path: string, body: object) =>
      request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    close: () => container.dispose(),
  };
}
