import type { Container } from '@ambit/container';
import type { InjectOptions } from 'fastify';
import { createApp } from '../src/app.ts';

/** A client of the application, which needs no port. */
export async function openClient(container: Container) {
  const app = await createApp(container);
  const request = async <T>(options: InjectOptions) => {
    const response = await app.inject(options);
    return { status: response.statusCode, body: response.json<T>() };
  };
  return {
    get: <T = unknown>(path: string) => request<T>({ method: 'GET', url: path }),
    post: <T = unknown>(path: string, body: object) => request<T>({ method: 'POST', url: path, payload: body }),
    close: () => app.close(),
  };
}
