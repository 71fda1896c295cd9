import type { AppDescription, Host, RunningHost } from '@ambit/testing/hosts';
import { fetchApp } from './fetch-app.js';
import { OF_FETCH, runtime, serveFetch } from './fetch-server.js';

/** `createHandler()` of @ambit/fetch, on the server of whichever runtime runs the tests. */
export const fetchHost: Host = { name: `fetch on ${runtime}`, exceptions: OF_FETCH, start };

async function start(description: AppDescription): Promise<RunningHost> {
  const app = fetchApp(description);
  const server = await serveFetch(app.fetch, app.respondToError);
  return { port: server.port, close: async () => void (await Promise.all([server.stop(), app.close()])) };
}
