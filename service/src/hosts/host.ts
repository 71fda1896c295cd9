import type { IncomingMessage } from 'node:http';
import type { InspectorOptions } from '@ambit/inspector';
import type { ILogger } from '../logging/logger.js';
import type { Telemetry } from '../telemetry/telemetry.js';

export interface HostOptions {
  readonly logger: ILogger;
  /**
   * Authenticates the caller; the result becomes the `userId` of the request. A `Problem` that it throws becomes the
   * response. It is called at every address except `/inspector`, which has its own token. Default: callers are anonymous.
   */
  readonly identify?: (request: IncomingMessage) => Promise<string | undefined> | string | undefined;
  /** After how long the transaction of an order is rolled back; 30 s by default. */
  readonly transaction?: { readonly timeoutMs: number };
  /** How long idle connections stay open while the host closes; 0 by default. */
  readonly keepIdleMs?: number;
  /** How many connections may be open; further ones are closed at once, which is logged. No limit by default. */
  readonly maxConnections?: number | undefined;
  /** Called with every error that is the service's fault, which the client sees as 500 or 503. */
  readonly onFailure?: (error: unknown) => void;
  /** Spans and metrics; none by default. */
  readonly telemetry?: Telemetry | undefined;
  /** Serves the inspector at `/inspector`; off by default. */
  readonly inspect?: InspectorOptions | undefined;
}

/** The API on one of the two frameworks. */
export interface Host {
  /** Resolves with the URL on which it listens. */
  listen(port: number, host: string): Promise<string>;
  /** Completes the requests in progress, closes connections after the timeout, then disposes the application container. */
  close(timeoutMs: number): Promise<void>;
}
