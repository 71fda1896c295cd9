import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { EventEmitter } from 'node:events';
import type { Http2ServerRequest, Http2ServerResponse, Http2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Connection } from './connection.js';

/*
 * The private fields of Node that Ambit reads or sets. No other file does. Checked on Node 20, 22, 24 and 26.
 *
 * | field                            | why nothing public does it                                              | where it is missing                                        |
 * | -------------------------------- | ----------------------------------------------------------------------- | ---------------------------------------------------------- |
 * | `socket.server`                  | a request does not name its server                                      | `drain()` does not know the requests in progress           |
 * | `socket.parser.incoming`         | whether a request came behind this one on its connection                | no response says `Connection: close`; idle ones are closed |
 * | `socket._httpMessage`            | the response that is next to leave; a request that has not come whole   | a server that closes waits for silent clients              |
 * | `_httpMessage._headerSent`       | `headersSent` is true as well while a response is held for COMMIT       | a 400 may follow a part of a response                      |
 * | event `socket` of a response     | a response learns of no other event that it is the next to leave        | a request beyond the limit is never served, see `takes()`  |
 * | `response.finished`, set         | `closeIdleConnections()` closes a connection whose client reads slowly  | a server that closes cuts such a response                  |
 * | `response._header`, set          | `headersSent` cannot be set, and middlewares must not change a held head | a head that is held back can still be changed              |
 * | `req.res` of Express, `res.req`  | deleted and set again, see `shareShapes()`                               | requests cost more before Node 24                          |
 * | `_removedContLen`, `_removedTE`  | a header that was removed is never again set by Node                    | an error in place of a response closes the connection      |
 *
 * The methods that Ambit replaces are those of a response and `on()` and `emit()` of its request, `server.emit`,
 * `server.closeIdleConnections`, and `destroySoon` of a socket that closes.
 */
interface ServedSocket extends Socket {
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null;
  readonly server?: Server;
  readonly _httpMessage?: (ServerResponse & { readonly _headerSent?: boolean }) | null;
}

export const CONNECTION = Symbol('ambit.connection');

/** Carries requests, and dies under them: a socket of HTTP/1, or a stream of HTTP/2, which carries one request. */
export type Channel = (Http2Stream | Socket) & { [CONNECTION]?: Connection };

/** The socket or HTTP/2 stream of a request. */
export function channelOf(req: IncomingMessage): Channel {
  // A client that speaks HTTP/1 may write another version, too.
  if (req.httpVersionMajor > 1 && 'stream' in req) return (req as unknown as Http2ServerRequest).stream;
  return req.socket;
}

export function serverOf(socket: Socket): Server | undefined {
  return (socket as ServedSocket).server;
}

/** Calls `act` when the response is the next to leave on its connection. */
export function onNextToLeave(res: ServerResponse, act: () => void): void {
  res.once('socket', act);
}

/** True if no request came behind this one on its connection; a middleware may have kept one that did. */
export function isLast({ req }: ServerResponse): boolean {
  return (req.socket as ServedSocket).parser?.incoming === req;
}

/** True if a socket that speaks HTTP/1 has no complete request, though half of one may have come. */
export function hasNoRequest(socket: Socket): boolean {
  const { parser, _httpMessage } = socket as ServedSocket;
  return Boolean(parser && !_httpMessage);
}

/** The response that Node is sending, or will send next. */
export function responseOn(socket: Socket): ServerResponse | undefined {
  return (socket as ServedSocket)._httpMessage ?? undefined;
}

/** True if a client would take bytes that are written now for a part of a response in progress, or for the response to a request in progress. */
function isResponding(socket: Socket): boolean {
  const { _httpMessage: response } = socket as ServedSocket;
  return response ? response._headerSent === true || response.req.complete : false;
}

/** Node takes these responses for unfinished as long as `act` runs. */
export function whileUnfinished(responses: readonly { finished: boolean }[], act: () => void): void {
  for (const response of responses) response.finished = false;
  act();
  for (const response of responses) response.finished = true;
}

/** Makes handlers and error handlers see the head as sent, or as not sent. */
export function pretendSent(res: ServerResponse, pretend: boolean): void {
  // HTTP/2 does not let this property be set; its response knows what was sent.
  Reflect.set(res, '_header', pretend ? HELD_BACK : null);
}

const HELD_BACK = 'held back';

/** True if the head is sent, and not only held until COMMIT. */
export function isHeadSent(res: ServerResponse): boolean {
  return res.headersSent && Reflect.get(res, '_header') !== HELD_BACK;
}

/** Lets Node say again how long the body is, after its headers were removed. */
export function restoreFraming(res: ServerResponse): void {
  Object.assign(res, { _removedContLen: false, _removedTE: false });
}

/** Since Node 24. */
const ARE_SHARED = Number.parseInt(process.versions.v8, 10) >= 13;

/**
 * Keeps a request and its response cheap whose prototypes a framework has exchanged, as Express does. To V8 before Node 24 each is then of a
 * shape of its own, which is copied with every property it gets, and which no cache knows: on Node 20 that is a third of all the time
 * a request takes. As dictionaries they share one shape, and an object from which a property is deleted becomes one.
 *
 * @param req - the request, which has the property `res`
 * @param res - its response, before it has properties of the host
 */
export function shareShapes(req: IncomingMessage & { readonly res?: unknown }, res: ServerResponse): void {
  if (ARE_SHARED) return;
  putBack(req, 'res');
  putBack(res, 'req');
}

function putBack<T extends object>(target: T, key: keyof T): void {
  const value = target[key];
  if (Reflect.deleteProperty(target, key)) target[key] = value;
}

/** Emits the events within `run`: Node emits those of a body in the context of its socket. */
export function emitWithin(emitter: EventEmitter, run: (emit: () => boolean) => boolean): void {
  // oxlint-disable-next-line typescript/unbound-method -- applied below: bind() makes one more function for each request
  const { emit } = emitter;
  emitter.emit = (...args: Parameters<typeof emit>) => run(() => emit.apply(emitter, args));
}

/** Calls `closeIdle` in place of the server's own `closeIdleConnections()`, and with it. */
export function replaceCloseIdle(server: Server, closeIdle: (own: () => void) => void): void {
  // A server for HTTP/2 alone has no such method, and no such problem: a session that closes sends all it has.
  const own = server.closeIdleConnections?.bind(server);
  if (own) server.closeIdleConnections = () => closeIdle(own);
}

export function restoreCloseIdle(server: Server): void {
  Reflect.deleteProperty(server, 'closeIdleConnections');
}

/** The time that a client may take to read its last response before the connection is closed over what it still sends. */
const LINGER_MS = 1000;

/** The client closed its side in the middle of a request: it is disconnected, and reads no response. */
const CLIENT_LEFT = 'HPE_INVALID_EOF_STATE';

/**
 * Finishes each connection whose input Node refuses, before anything is sent on it. Where it has complete requests to respond to,
 * it is closed behind them. Otherwise, where a response is on its way, the connection is cut: bytes behind a part of a
 * response would count as the rest of it. In all other cases everything goes on as in Node.
 *
 * Node's own response to such input, like that of most listeners for `clientError`, cuts off the requests in progress, and
 * listeners often look at `socket.writable` only before they respond.
 */
export function finishBeforeErrors(server: Server): void {
  const connectionOf = (socket: Channel): Connection | undefined => socket[CONNECTION];
  const emit = server.emit.bind(server) as (event: string, ...args: unknown[]) => boolean;
  server.emit = function emitUnlessFinishing(event: string, ...args: unknown[]): boolean {
    if (event === 'clientError') {
      const [{ code }, socket] = args as [NodeJS.ErrnoException, Socket];
      if (code !== CLIENT_LEFT && !socket.destroyed && connectionOf(socket)?.finish()) return true;
      if (isResponding(socket)) return Boolean(socket.destroy());
    } else if (event === 'upgrade' || event === 'connect') {
      const socket = args[1] as Socket;
      if (!connectionOf(socket)?.isFinishing) return emit(event, ...args);
      // It came beyond the limit.
      keepResponding(socket);
      return true;
    }
    return emit(event, ...args);
  };
  listenAlone(server, 'connect', (_req: unknown, socket: Socket | Http2ServerResponse) => {
    // Node does the same by itself where nobody listens.
    if ('stream' in socket) {
      socket.writeHead(405).end();
      return;
    }
    keepResponding(socket);
    if (!connectionOf(socket)?.finish()) socket.destroy();
  });
}

/** A registered symbol: several copies of this package may be in one process, and each watches all servers. */
const OURS = Symbol.for('@ambit/http.listener');

/** Listens to an event for which Node has a default: for as long as the application does not, and once for all copies of this package. */
export function listenAlone<A extends unknown[]>(server: Server, event: string, act: (...args: A) => void): void {
  const listener = (...args: unknown[]): void => {
    const all = server.listeners(event);
    if (all[0] === listener && all.every((each) => OURS in each)) act(...(args as A));
  };
  server.on(event, Object.assign(listener, { [OURS]: true }));
}

/** Node has taken all of its listeners off the socket: a response in progress is no longer notified when that takes more. */
function keepResponding(socket: Socket): void {
  socket.on('error', () => undefined);
  socket.on('drain', () => responseOn(socket)?.emit('drain'));
}

/** Closes the connection when its last response is out. Until then, what else comes is read and dropped, so that a client that leaves is noticed. */
export function closeBehindResponses(socket: Socket): void {
  socket.once('end', () => socket.destroy());
  // The input is dropped in the next tick, since this is called while Node's parser reads.
  process.nextTick(dropInput, socket);
  let closing: NodeJS.Timeout | undefined;
  // A socket that is destroyed over unread input resets the connection, and takes the response away from the client.
  socket.destroySoon = () => {
    closing ??= setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.end();
  };
  socket.once('close', () => clearTimeout(closing));
}

/** Node's parser is a listener for `data`. */
function dropInput(socket: Socket): void {
  if (socket.destroyed) return;
  socket.removeAllListeners('data');
  socket.on('data', () => undefined);
  socket.resume();
}
