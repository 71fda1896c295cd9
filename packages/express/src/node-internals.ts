import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/*
 * Private fields of Node. Nothing public tells the same:
 * - `socket.server`: the server that accepted it. Node sets it on every socket that it serves HTTP on.
 * - `socket.parser.incoming`: the request that came last, until it is answered.
 * - `socket._handle`: Node stops it while its parser reads from it directly, and when a listener for `data` takes
 *   over it stays stopped, though `reading` is true.
 * - `socket._httpMessage`: the response that is being sent.
 * - the event `socket` of a response: the response before it on its connection has finished.
 * - `response.finished`: what `closeIdleConnections()` looks at, though a slow client may not have all of it yet.
 */
interface ServedSocket extends Socket {
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null;
  readonly server?: Server;
  readonly _httpMessage?: ServerResponse | null;
  readonly _handle?: { readonly reading?: boolean; readStart(): number } | null;
}

export function serverOf(socket: Socket): Server | undefined {
  return (socket as ServedSocket).server;
}

/** Calls `act` when the response is the next to leave on its connection. */
export function onNextToLeave(res: ServerResponse, act: () => void): void {
  res.once('socket', act);
}

/** Whether no request came behind this one on its connection; a middleware may have kept one that did. */
export function isLast({ req }: ServerResponse): boolean {
  return (req.socket as ServedSocket).parser?.incoming === req;
}

/** Reads from a socket that has got a listener for `data`. */
export function readOn(socket: Socket): void {
  const { _handle: handle } = socket as ServedSocket;
  if (handle?.reading) handle.readStart();
}

/** After CONNECT, Node no longer tells the response when its socket takes more. */
export function passOnDrain(socket: Socket): void {
  socket.on('drain', () => void (socket as ServedSocket)._httpMessage?.emit('drain'));
}

/** To Node these responses are in progress as long as `act` runs. */
export function whileUnfinished(responses: readonly { finished: boolean }[], act: () => void): void {
  for (const response of responses) response.finished = false;
  act();
  for (const response of responses) response.finished = true;
}
