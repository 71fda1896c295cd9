import type { ConnectedRequest } from './connection-parts.js';
import type { Connections } from './connections.js';
import type { Load } from './load.js';

/** What all requests of one middleware, plugin or handler have in common. */
export interface RequestHost {
  /** How many requests may be in progress. */
  readonly load: Load;
  /** Called when a request scope failed to dispose. */
  readonly onDisposeError: (error: unknown, request: ConnectedRequest) => void;
  /** The host calls `finish()` when a response was sent. Default: the events of the response do. */
  readonly callsFinish?: true;
  /** For a framework whose server is known before its first request. Default: found by the socket. */
  readonly connections?: Connections;
}
