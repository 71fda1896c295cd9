import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Container, Registration } from '@ambit/container';
import { openScopes, override } from '@ambit/container/tools';
import { afterEach } from 'vitest';
import type { Host } from './hosts.js';

const running: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

/** One call of the logger, and how many scopes were open then. */
export interface Line {
  readonly level: 'info' | 'error';
  readonly message: string;
  readonly data: unknown;
  readonly openScopes: number;
}

/** The application with a logger that records its calls, and a client. */
export async function application(host: Host, container = host.createAppContainer()) {
  const lines: Line[] = [];
  const log =
    (level: Line['level']) =>
    (message: string, data: unknown): void =>
      void lines.push({ level, message, data, openScopes: openScopes(container).length });
  override(container, Registration.fromValue({ info: log('info'), error: log('error') }).to('ILogger'));

  const server = await host.start(container);
  running.push(server);
  const url = `http://127.0.0.1:${server.port}`;
  const send = async (path: string, init?: RequestInit): Promise<{ status: number; body: unknown }> => {
    const response = await fetch(url + path, init);
    return { status: response.status, body: await response.json() };
  };
  return {
    container,
    lines,
    get: (path: string) => send(path),
    post: (path: string, body: string, type = 'application/json') =>
      send(path, { method: 'POST', headers: { 'content-type': type }, body }),
  };
}

/** Resolves when a scope of this application is closed. */
export function scopeClosed(app: Container): Promise<void> {
  return new Promise((resolve) => {
    const listen = (message: unknown): void => {
      if ((message as { scope: Container }).scope.parent !== app) return;
      unsubscribe('ambit:scope:closed', listen);
      resolve();
    };
    subscribe('ambit:scope:closed', listen);
  });
}
