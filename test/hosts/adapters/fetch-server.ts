import { serve } from '@hono/node-server';
import type { Exception } from '@ambit/testing/hosts';
import { WITHOUT_A_SOCKET } from './fetch-app.js';

type Fetch = (request: Request) => Promise<Response>;

interface FetchServer {
  readonly port: number;
  /** Takes no more connections, and resolves when every response has been sent. */
  stop(): Promise<void>;
}

/** The parts of the runtimes that these tests use; no package of ours knows them. */
interface Runtimes {
  readonly Bun?: {
    serve(options: {
      port: number;
      hostname: string;
      idleTimeout: number;
      fetch: Fetch;
      error: (error: unknown) => Response;
    }): {
      readonly port: number;
      stop(): Promise<void>;
    };
  };
  readonly Deno?: {
    serve(
      options: { port: number; hostname: string; onListen: () => void; onError: (error: unknown) => Response },
      fetch: Fetch,
    ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
  };
}

const { Bun, Deno } = globalThis as unknown as Runtimes;

/** Which of them runs these tests. */
export const runtime = Bun ? 'Bun' : Deno ? 'Deno' : 'Node';

const hostname = '127.0.0.1';

/** Serves on what the runtime itself offers, and on Node on the server of Hono. */
export function serveFetch(fetch: Fetch, onError: (error: unknown) => Response): Promise<FetchServer> {
  if (Bun) {
    const server = Bun.serve({ port: 0, hostname, idleTimeout: 0, fetch, error: onError });
    return Promise.resolve({ port: server.port, stop: () => server.stop() });
  }
  if (Deno) {
    const server = Deno.serve({ port: 0, hostname, onListen: () => undefined, onError }, fetch);
    return Promise.resolve({ port: server.addr.port, stop: () => server.shutdown() });
  }
  return new Promise((resolve) => {
    const server = serve({ port: 0, hostname, fetch: (request) => fetch(request).catch(onError) }, (info) =>
      resolve({ port: info.port, stop }),
    );
    const stop = (): Promise<void> => new Promise((stopped) => void server.close(() => stopped()));
  });
}

const HTTP_2_ON_HTTP_1: Exception = {
  test: /says HTTP\/2 on a connection/,
  because: 'the server refuses such a request',
};

/** Servers differ in the requests that they refuse, and in how they close. */
const OF_THE_SERVER: Readonly<Record<typeof runtime, readonly Exception[]>> = {
  Node: [
    {
      test: /closing > (does not wait|responds|waits)|a server that closes/,
      because: 'Node leaves connections open; drain() of @ambit/http closes them, as in @ambit/hono',
    },
  ],
  Bun: [
    HTTP_2_ON_HTTP_1,
    {
      test: /closing > (does not wait for idle clients|waits a second)/,
      because: 'Bun waits for them until its idleTimeout',
    },
    {
      test: /closing > responds to what has begun|a server that closes/,
      because: 'the same',
    },
  ],
  Deno: [
    HTTP_2_ON_HTTP_1,
    {
      test: /closing > responds to what has begun|a server that closes/,
      because: 'Deno closes connections without saying so in a header',
    },
  ],
};

/** The tests that no host over fetch passes on the server of this runtime. */
export const OF_FETCH: readonly Exception[] = [...WITHOUT_A_SOCKET, ...OF_THE_SERVER[runtime]];
