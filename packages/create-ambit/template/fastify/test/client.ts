import type { Container } from '@ambit/container';
import type { InjectOptions } from 'fastify';
import { createApp } from '../src/app.ts';

/** A client of the application, which needs no port. */
export async function openClient(container: Container) {
  const app = await createApp(container);
  const request = async (options: InjectOptions) => {
    const response = await app.inject(options);
    return { status: response.statusCode, body: response.json() };
  };
  return {
    get: (path: string) => request({ method: 'GET', url: path }),
    post: (path: string, body: object) => request({ method: 'POST', url: path, payload: body }),
    close: () => app.close(),
  };
}
