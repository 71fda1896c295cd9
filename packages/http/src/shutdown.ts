import type { IContainer } from '@ambit/container';
import { checkContainer, checkFunctions, checkTimes, HttpError } from '@ambit/host';
import { drainScopes } from '@ambit/container/work';
import { drain, type DrainOptions, type HttpServer } from './drain.js';
import { reportedInTime, within } from './timers.js';

/** Which signals shut down, how long that may take, and who is notified of failures. */
export interface DisposeOnSignalOptions extends DrainOptions {
  /** The signals at which it shuts down. Default `['SIGTERM']`. */
  readonly signals?: readonly NodeJS.Signals[];
  /** How long the application's container may take to be disposed; `Infinity`: forever. Default 10 s. */
  readonly disposeTimeoutMs?: number;
  /**
   * Called when the application's container failed to be disposed, or is not disposed in time: the process then exits with 1. Called
   * with `AMBIT_HTTP_DRAIN_TIMEOUT` when connections were closed by force, which leaves the exit code as it is. A promise that this
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
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: an option is invalid
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
      await within(Promise.resolve(appContainer.dispose()), {
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
