import { serve } from '@hono/node-server';

export type Fetch = (request: Request) => Promise<Response>;

export interface FetchServer {
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
