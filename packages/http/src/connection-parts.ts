import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2Stream } from 'node:http2';
import type { Socket } from 'node:net';

/** An active request, as its connection sees it. */
export interface ConnectedRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly isFinished: boolean;
  /** Its neighbours on the connection. */
  older: ConnectedRequest | undefined;
  newer: ConnectedRequest | undefined;
  /** The connection is lost, or will take no response to this request. */
  lose(): void;
  /** Finishes a request whose response is out, or never will be, where nobody was notified. */
  finishIfSent(): void;
  whenFinished(): Promise<void>;
}

/** All connections of a server, as one of them sees them. */
export interface ConnectionList<C> {
  readonly isClosing: boolean;
  add(connection: C, channel: Http2Stream | Socket): void;
  delete(connection: C): void;
}
