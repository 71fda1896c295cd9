import type { Server } from 'node:http';
import type { Http2SecureServer, Http2Server } from 'node:http2';
import { Connections } from './connections.js';
import { checkTimes } from './options.js';
import { startTimer } from './timers.js';

export interface DrainOptions {
  /** After this long, connections are cut, WebSockets among them; `Infinity`: never. Default 10 s. */
  readonly timeoutMs?: number;
}

/** A server of `node:http`, `node:https` or `node:http2`. */
export type HttpServer = Http2SecureServer | Http2Server | Server;

/**
 * Closes a server gracefully: no new connections, `Connection: close` on the last response of each, and the connections
 * that are idle, or become so, are closed. Resolves when all are. (`server.close()` alone waits for keep-alive clients.)
 *
 * @param server the server to close
 * @param options how long to wait
 * @returns a promise that resolves when every connection is closed
 * @throws HttpError `AMBIT_HTTP_OPTION` where an option is invalid (as a rejection)
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 *
 * const server = createServer((_req, res) => void res.end('hello')).listen(3000);
 * process.once('SIGTERM', () => void drain(server, { timeoutMs: 5000 }));
 * ```
 */
export function drain(server: HttpServer, { timeoutMs = 10_000 }: DrainOptions = {}): Promise<void> {
  return new Promise((resolve) => {
    checkTimes({ timeoutMs }, 'timeoutMs');
    const connections = Connections.of(server as Server);
    connections.close();
    const cutting = startTimer(() => connections.destroyAll(), timeoutMs);
    // A server that does not listen is closed already.
    server.close(() => {
      clearTimeout(cutting);
      connections.closed();
      resolve();
    });
  });
}
