import type { Server } from 'node:http';
import type { Http2SecureServer, Http2Server } from 'node:http2';
import { checkFunctions, checkTimes, HttpError } from '@ambit/host';
import { Connections } from './connections.js';
import { reportedInTime, startTimer } from './timers.js';

/** How long `drain()` waits, and who is notified where that was not enough. */
export interface DrainOptions {
  /** After this long, connections are cut, WebSockets among them; `Infinity`: never. Default 10 s. */
  readonly timeoutMs?: number;
  /**
   * How long idle connections stay open. The next request on one is responded to with `Connection: close`; without this, a request that its client sent
   * just before its connection was closed fails, and nobody repeats it if it is a POST. Default 0.
   */
  readonly keepIdleMs?: number;
  /**
   * Called with `AMBIT_HTTP_DRAIN_TIMEOUT` when connections were closed by force; a promise that this returns is awaited for
   * five seconds at most. Default: `console.error`.
   */
  readonly onError?: (error: unknown) => void | Promise<void>;
}

/** A server of `node:http`, `node:https` or `node:http2`. */
export type HttpServer = Http2SecureServer | Http2Server | Server;

/**
 * Closes a server gracefully: no new connections, `Connection: close` on the last response of each, and the connections
 * that are idle, or become so, are closed. Resolves when all are. (`server.close()` alone waits for keep-alive clients.)
 *
 * @param server - the server to close
 * @param options - how long to wait, and who is notified where that was not enough
 * @returns a promise that resolves when every connection is closed
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: an option is invalid (as a rejection)
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 *
 * const server = createServer((_req, res) => void res.end('hello')).listen(3000);
 * process.once('SIGTERM', () => void drain(server, { timeoutMs: 5000 }));
 * ```
 */
export function drain(server: HttpServer, options: DrainOptions = {}): Promise<void> {
  const { timeoutMs = 10_000, keepIdleMs = 0, onError } = options;
  return new Promise((resolve) => {
    checkTimes({ timeoutMs, keepIdleMs }, 'timeoutMs', 'keepIdleMs');
    checkFunctions({ onError }, 'onError');
    let reporting: Promise<void> | undefined;
    const connections = Connections.of(server as Server);
    connections.close(keepIdleMs);
    const cut = (): void => {
      // It counts now, and calls back later.
      (server as Server).getConnections((_error, count) => {
        if (count > 0) reporting = reportedInTime(onError, closedByForce(count, timeoutMs));
      });
      connections.destroyAll();
    };
    const cutting = startTimer(cut, timeoutMs);
    // A server that does not listen is closed already.
    server.close(() => {
      clearTimeout(cutting);
      connections.closed();
      resolve(reporting);
    });
  });
}

function closedByForce(count: number, ms: number): HttpError {
  const what = count === 1 ? '1 connection' : `${count} connections`;
  return new HttpError('AMBIT_HTTP_DRAIN_TIMEOUT', `${what} after ${ms} ms`);
}
