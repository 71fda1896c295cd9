import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/*
 * The private fields of Node that Ambit uses; no other file does. Checked on Node 20, 22, 24 and 26. Nothing public says
 * the same:
 * - `socket.server`: the server that accepted it. Node sets it on every socket that it serves HTTP on.
 * - `socket.parser`: set on sockets that speak HTTP/1. Its `incoming` is the request that came last, until its response
 *   has finished.
 * - `socket._handle`: Node stops it while its parser reads from it directly, and when a listener for `data` takes
 *   over it stays stopped, whatever `reading` says.
 * - `socket._httpMessage`: the response that is being sent, or is the next to be sent. Its `_headerSent`: the head has been
 *   handed to the socket. (`headersSent` is true as well while a response is held for COMMIT.)
 * - the event `socket` of a response: the response before it on its connection has finished.
 * - `response.finished`: what `closeIdleConnections()` looks at, though a slow client may not have all of it yet.
 * - `response._header`: the head once it is sent. `headersSent` looks there, and so does whatever changes the head.
 * - `response._removedContLen` and `_removedTE`: once these headers were removed, Node frames the body by neither, and the
 *   client waits for the rest of it until the connection closes.
 */
interface ServedSocket extends Socket {
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null;
  readonly server?: Server;
  readonly _httpMessage?: (ServerResponse & { readonly _headerSent?: boolean }) | null;
  readonly _handle?: { reading?: boolean; readStart(): number } | null;
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

/** Whether a socket that speaks HTTP/1 has no complete request, though half of one may have come. */
export function hasNoRequest(socket: Socket): boolean {
  const { parser, _httpMessage } = socket as ServedSocket;
  return Boolean(parser && !_httpMessage);
}

/** Whether a client would take what is written now for a part of a response in progress, or for the response to a request in progress. */
export function isResponding(socket: Socket): boolean {
  const { _httpMessage: response } = socket as ServedSocket;
  return response ? response._headerSent === true || response.req.complete : false;
}

/** Reads from a socket that has got a listener for `data`. */
export function readOn(socket: Socket): void {
  const { _handle: handle } = socket as ServedSocket;
  if (!handle) return;
  handle.reading = true;
  handle.readStart();
}

/** Whether a socket still speaks HTTP/1: Node takes the parser away for CONNECT and for upgrades, and when it closes. */
export function speaksHttp(socket: Socket): boolean {
  return Boolean((socket as ServedSocket).parser);
}

/** After CONNECT and upgrades, Node no longer notifies the responses in progress when their socket takes more. */
export function passOnDrain(socket: Socket): void {
  if ((socket as ServedSocket)._httpMessage)
    socket.on('drain', () => void (socket as ServedSocket)._httpMessage?.emit('drain'));
}

/** To Node these responses are in progress as long as `act` runs. */
export function whileUnfinished(responses: readonly { finished: boolean }[], act: () => void): void {
  for (const response of responses) response.finished = false;
  act();
  for (const response of responses) response.finished = true;
}

/** To handlers and error handlers the head is sent from now on, or no longer. */
export function pretendSent(res: ServerResponse, pretend: boolean): void {
  // Of HTTP/2 this property cannot be set, and the response says by itself what was sent.
  Reflect.set(res, '_header', pretend ? 'held back' : null);
}

/** Lets Node say again how long the body is, after its headers were removed. */
export function restoreFraming(res: ServerResponse): void {
  Object.assign(res, { _removedContLen: false, _removedTE: false });
}
