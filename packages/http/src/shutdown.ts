import type { Server } from 'node:http';
import type { Http2SecureServer, Http2Server } from 'node:http2';
import type { IContainer } from '@ambit/container';
import { drainScopes } from '@ambit/container/work';
import {
  checkContainer,
  checkFunctions,
  checkTimes,
  HttpError,
  reported,
  type Reporter,
  settleWithin,
  startTimer,
} from './request/index.js';
import { ServerConnections } from './server-connections.js';

const REPORT_TIMEOUT_MS = 5000;

/** Calls the application's reporter, and waits for one that hangs five seconds at most. Never rejects. */
async function reportedInTime(reporter: Reporter<undefined>, error: unknown): Promise<void> {
  const onPassed = (): Error => new Error('The reporter takes too long');
  await settleWithin(reported(reporter, error, undefined), { ms: REPORT_TIMEOUT_MS, onPassed }).catch(() => undefined);
}

/** The time that `drain()` waits, and who is notified where that was not enough. */
export interface DrainOptions {
  /** After this long, connections are cut, WebSockets among them; `Infinity`: never. Default 10 s. */
  readonly timeoutMs?: number;
  /**
   * How long idle connections stay open. The next request on one is responded to with `Connection: close`; without this, a request
   * that its client sent just before its connection was closed fails, and nobody repeats it if it is a POST. Default 0.
   */
  readonly keepIdleMs?: number;
  /**
   * Called with `AMBIT_DRAIN_TIMEOUT` when connections were closed by force; a promise that this returns is awaited for
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
 * @throws `HttpError` `AMBIT_OPTION`: an option is invalid (as a rejection)
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
    const connections = ServerConnections.of(server as Server);
    connections.close(keepIdleMs);
    const cut = (): void => {
      // It counts now, and calls back later.
      (server as Server).getConnections((_error, count) => {
        if (count > 0) reporting = reportedInTime(onError, closedByForce(count, timeoutMs));
      });
      connections.destroyAll();
    };
    const cutting = startTimer(cut, timeoutMs);
    const closed = (): void => {
      clearTimeout(cutting);
      connections.closed();
      resolve(reporting);
    };
    // A server that does not listen is closed already.
    void connections.acceptWaiting().then(() => server.close(closed));
  });
}

function closedByForce(count: number, ms: number): HttpError {
  const what = count === 1 ? '1 connection' : `${count} connections`;
  return new HttpError('AMBIT_DRAIN_TIMEOUT', `${what} after ${ms} ms`);
}

/** Which signals shut down, how long that may take, and who is notified of failures. */
export interface DisposeOnSignalOptions extends DrainOptions {
  /** The signals at which it shuts down. Default `['SIGTERM']`. */
  readonly signals?: readonly NodeJS.Signals[];
  /** The time that the application's container may take to be disposed; `Infinity`: forever. Default 10 s. */
  readonly disposeTimeoutMs?: number;
  /**
   * Called when the application's container failed to be disposed, or is not disposed in time: the process then exits with 1. Called
   * with `AMBIT_DRAIN_TIMEOUT` when connections were closed by force, which leaves the exit code as it is. A promise that this
   * returns is awaited for five seconds at most. Default: `console.error`.
   */
  readonly onError?: (error: unknown) => void | Promise<void>;
}

/**
 * At SIGTERM: lets the requests in progress finish, and the work of `inScope(appContainer, ...)`, disposes the application's container,
 * and exits with code 0; with code 1 if that failed, or took too long.
 *
 * @param server - the server to drain
 * @param appContainer - the application's container
 * @param options - which signals, how long to wait, and who is notified of a failure
 * @throws `HttpError` `AMBIT_OPTION`: an option is invalid
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { createServer } from 'node:http';
 *
 * const appContainer = new Container({ tags: ['application'] });
 * const server = createServer(createHandler(appContainer, (_req, res) => res.end('hello')));
 * disposeOnSignal(server.listen(3000), appContainer);
 * ```
 */
export function disposeOnSignal(
  server: HttpServer,
  appContainer: Pick<IContainer, 'dispose'>,
  { signals = ['SIGTERM'], disposeTimeoutMs = 10_000, ...draining }: DisposeOnSignalOptions = {},
): void {
  checkContainer(appContainer, 'dispose', 'disposeOnSignal()');
  checkTimes({ disposeTimeoutMs, ...draining }, 'disposeTimeoutMs', 'timeoutMs', 'keepIdleMs');
  const { onError } = draining;
  checkFunctions({ onError }, 'onError');
  let begun = false;
  const shutDown = async (): Promise<void> => {
    if (begun) return;
    begun = true;
    // A container is known by its identity, whatever methods it has.
    await Promise.all([drain(server, draining), drainScopes(appContainer as IContainer, draining)]);
    try {
      await settleWithin(Promise.resolve(appContainer.dispose()), {
        ms: disposeTimeoutMs,
        onPassed: () => disposedTooLate(disposeTimeoutMs),
      });
    } catch (error) {
      await reportedInTime(onError, error);
      process.exit(1);
    }
    process.exit(0);
  };
  for (const signal of signals) process.on(signal, () => void shutDown());
}

/** Which disposer hangs, nobody knows; what it waits for is often among what keeps the process running. */
function disposedTooLate(ms: number): HttpError {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const open = [...counts].map(([name, count]) => `${count} ${name}`).join(', ');
  return new HttpError(
    'AMBIT_HTTP_DISPOSE_TIMEOUT',
    `within ${ms} ms; the process exits with code 1; still open: ${open || 'nothing'}`,
  );
}
