import type { IncomingMessage, Server } from 'node:http';
import type { InspectorOptions } from '@ambit/inspector';
import type { ILogger } from '../logging/logger.js';
import type { Telemetry } from '../telemetry/telemetry.js';

export interface HostOptions {
  readonly logger: ILogger;
  /**
   * Says who asks, once that is verified; what it gives becomes the `userId` of the request. A `Problem` it throws is
   * the answer. It is asked at every address but `/inspector`, which has a token of its own. Nobody is asked by default.
   */
  readonly identify?: (request: IncomingMessage) => Promise<string | undefined> | string | undefined;
  /** After how long the transaction of an order is rolled back; 30 s by default. */
  readonly transaction?: { readonly timeoutMs: number };
  /** Called with every error that is our fault, and answered with 500 or 503. */
  readonly onFailure?: (error: unknown) => void;
  /** Spans and metrics; none by default. */
  readonly telemetry?: Telemetry | undefined;
  /** Shows the scopes at `/inspector`; not by default. */
  readonly inspect?: InspectorOptions | undefined;
}

/** The API on one of the two frameworks. */
export interface Host {
  /** Resolves with the address where it listens. */
  listen(port: number, host: string): Promise<string>;
  /** Answers what was accepted, cutting connections after the time given, then disposes the application container. */
  close(timeoutMs: number): Promise<void>;
}

export function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port');
  const { address: host, family, port } = address;
  return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`;
}
