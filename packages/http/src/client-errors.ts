import type { Server } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import { isResponding, passOnDrain } from './node-internals.js';

/** How long a client may take to read its last response before the connection is closed over what it still sends. */
const LINGER_MS = 1000;

/** The client closed its side in the middle of a request: it is disconnected, and reads no response. */
const CLIENT_LEFT = 'HPE_INVALID_EOF_STATE';

/** What is done with the socket of a connection that no longer speaks HTTP as it should. */
interface SocketActions {
  /** Whether the connection has complete requests to respond to: it is closed behind them, and others are lost. */
  readonly finishOn: (socket: Socket) => boolean;
  /** The connection of a socket speaks another protocol from now on. */
  readonly leaveHttp: (socket: Socket) => void;
}

/**
 * Finishes each connection whose input Node refuses, before anything is sent on it. Where it has complete requests to respond to,
 * it is closed behind them. Otherwise, where a response is on its way, the connection is cut: bytes behind a part of a
 * response would count as the rest of it. In all other cases everything goes on as in Node.
 *
 * Node's own response to such input, like that of most listeners for `clientError`, cuts off the requests in progress, and
 * listeners often look at `socket.writable` only before they respond.
 */
export function finishBeforeErrors(server: Server, { finishOn, leaveHttp }: SocketActions): void {
  const emit = server.emit.bind(server) as (event: string, ...args: unknown[]) => boolean;
  server.emit = function emitUnlessFinishing(event: string, ...args: unknown[]): boolean {
    if (event === 'clientError') {
      const [{ code }, socket] = args as [NodeJS.ErrnoException, Socket];
      if (code !== CLIENT_LEFT && !socket.destroyed && finishOn(socket)) return true;
      if (isResponding(socket)) return Boolean(socket.destroy());
    } else if (event === 'upgrade' || event === 'connect') {
      leaveHttp(args[1] as Socket);
      passOnDrain(args[1] as Socket);
    }
    return emit(event, ...args);
  };
  server.on('connect', (_req, socket: Socket | Http2ServerResponse) => {
    // Those of the application.
    if (server.listenerCount('connect') > 1) return;
    // As Node does by itself where nobody listens.
    if ('stream' in socket) {
      socket.writeHead(405).end();
      return;
    }
    // Node has taken all of its listeners off.
    socket.on('error', () => undefined);
    if (finishOn(socket)) socket.resume();
    else socket.destroy();
  });
}

/** Closes the connection when its last response is out. Until then, what else comes is read and dropped. */
export function closeBehindResponses(socket: Socket): void {
  socket.once('end', () => socket.destroy());
  let closing: NodeJS.Timeout | undefined;
  // A socket that is destroyed over unread input resets the connection, and takes the response away from the client.
  socket.destroySoon = () => {
    closing ??= setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.end();
  };
  socket.once('close', () => clearTimeout(closing));
}
