import type { Server } from 'node:http';
import type { IContainer } from '@ambit/container';
import { drain, type DrainOptions } from './drain.js';
import { report } from './report.js';

export interface DisposeOnSignalOptions extends DrainOptions {
  /** Default: `SIGTERM`. */
  readonly signals?: readonly NodeJS.Signals[];
  /** Told when the application's container did not end well; the process then exits with 1. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
}

/**
 * At SIGTERM: lets the requests under way finish, disposes the application's container, and exits with code 0.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import express from 'express';
 *
 * const appContainer = new Container({ tags: ['application'] });
 * const app = express().use(containerMiddleware(appContainer));
 * disposeOnSignal(app.listen(3000), appContainer);
 * ```
 */
export function disposeOnSignal(
  server: Server,
  appContainer: Pick<IContainer, 'dispose'>,
  { signals = ['SIGTERM'], onError, ...draining }: DisposeOnSignalOptions = {},
): void {
  let begun = false;
  const end = async (): Promise<void> => {
    if (begun) return;
    begun = true;
    await drain(server, draining);
    try {
      await appContainer.dispose();
      process.exit(0);
    } catch (error) {
      report(onError, error, undefined);
      process.exit(1);
    }
  };
  for (const signal of signals) process.on(signal, () => void end());
}
