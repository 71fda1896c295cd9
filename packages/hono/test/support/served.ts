import type { AddressInfo } from 'node:net';
import { drain } from '@ambit/http';
import { serve, type ServerType } from '@hono/node-server';
import type { Hono } from 'hono';

/** An application that is served, and sends requests to itself. */
export class Served implements AsyncDisposable {
  private constructor(
    readonly get: (path: string, init?: RequestInit) => Promise<Response>,
    readonly stop: () => Promise<void>,
  ) {}

  static inProcess(app: Hono): Served {
    return new Served(
      async (path, init) => app.request(path, init),
      () => Promise.resolve(),
    );
  }

  static overSocket(server: ServerType): Served {
    const { port } = server.address() as AddressInfo;
    return new Served(
      (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init),
      () => drain(server),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Serves the application with Hono's server for Node. */
export async function serving(app: Hono): Promise<Served> {
  const server = await new Promise<ServerType>((resolve) => {
    const listening = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(listening));
  });
  return Served.overSocket(server);
}
