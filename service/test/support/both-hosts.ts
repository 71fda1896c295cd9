import { afterAll, afterEach, beforeAll } from 'vitest';
import { App } from './app.js';

/** Both hosts, each with a database in memory, for all tests of the calling block. */
export function bothHosts(): { readonly express: App; readonly fastify: App } {
  const hosts = {} as { express: App; fastify: App };
  const each = (act: (app: App) => Promise<void>): Promise<void[]> => Promise.all(Object.values(hosts).map(act));

  beforeAll(async () => {
    hosts.express = await App.start('express', { DATA_DIR: ':memory:' });
    hosts.fastify = await App.start('fastify', { DATA_DIR: ':memory:' });
  });
  afterEach(() => each((app) => app.quiet()));
  afterAll(() => each((app) => app.stop()));
  return hosts;
}
