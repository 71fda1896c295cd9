import type { Container } from '@ambit/container';
import { createApp } from '../src/app.ts';

/** A client of the application, which needs no port. */
export async function openClient(container: Container) {
  const app = createApp(container);
  const request = async <T>(path: string, init?: RequestInit) => {
    const response = await app.request(path, init);
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
    close: () => container.dispose(),
  };
}
