import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { EventEmitter } from 'node:events';
import type { Http2ServerRequest, Http2ServerResponse, Http2Stream } from 'node:http2';
import { Socket } from 'node:net';
import type { Connection } from './connection.js';
import type { RequestHost } from './request-host.js';
import type { ResponseGate } from './response-gate.js';

/*
 * The private fields of Node that Ambit uses, and the methods of its objects that Ambit replaces: those of a request and its response,
 * `server.emit`, `server.closeIdleConnections`, and `pause`, `resume` and `destroySoon` of a socket. No other file does. Checked on Node
 * 20, 22, 24 and 26. Nothing public does the same:
 * - `socket.server`: the server that accepted it. Node sets it on every socket that it serves HTTP on.
 * - `socket.parser`: set on sockets that speak HTTP/1. Its `incoming` is the request that came last, until its response
 *   has finished. Its `onIncoming(req)` is called with each head; where that returns 21, the parser stops behind the head, in the midst of
 *   its bytes, and `execute(bytes)` returns an error `HPE_PAUSED` with their number so far. While it reads from the network by itself, the
 *   function at `[kOnExecute]` gets that error, and `getCurrentBuffer()` returns the bytes. After `resume()` it takes more.
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
  readonly parser?: Parser | null;
  readonly server?: Server;
  readonly _httpMessage?: (ServerResponse & { readonly _headerSent?: boolean }) | null;
  readonly _handle?: { reading?: boolean; readStart(): number } | null;
}

interface Parser {
  readonly constructor: { readonly kOnExecute: number };
  readonly incoming?: IncomingMessage | null;
  onIncoming: (req: IncomingMessage, shouldKeepAlive: boolean) => number;
  execute(bytes: Buffer): unknown;
  getCurrentBuffer(): Buffer;
  resume(): void;
  [kOnExecute: number]: (result: unknown) => void;
}

export const CONNECTION = Symbol('ambit.connection');

/** Carries requests, and dies under them: a socket of HTTP/1, or a stream of HTTP/2, which carries one request. */
export type Channel = (Http2Stream | Socket) & { [CONNECTION]?: Connection };

/** The socket or HTTP/2 stream of a request. */
export function channelOf(req: IncomingMessage): Channel {
  // Who speaks HTTP/1 may write another version, too.
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

/** Whether no request came behind this one on its connection; a middleware may have kept one that did. */
export function isLast({ req }: ServerResponse): boolean {
  return (req.socket as ServedSocket).parser?.incoming === req;
}

/** Whether a socket that speaks HTTP/1 has no complete request, though half of one may have come. */
export function hasNoRequest(socket: Socket): boolean {
  const { parser, _httpMessage } = socket as ServedSocket;
  return Boolean(parser && !_httpMessage);
}

/** The response that Node is sending, or will send next. */
export function responseOn(socket: Socket): ServerResponse | undefined {
  return (socket as ServedSocket)._httpMessage ?? undefined;
}

/** Whether a client would take what is written now for a part of a response in progress, or for the response to a request in progress. */
function isResponding(socket: Socket): boolean {
  const { _httpMessage: response } = socket as ServedSocket;
  return response ? response._headerSent === true || response.req.complete : false;
}

/** Reads from a socket that has got a listener for `data`. */
function readOn(socket: Socket): void {
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
function passOnDrain(socket: Socket): void {
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

/** Emits the events within `run`: Node emits those of a body in the context of its socket. */
export function emitWithin(emitter: EventEmitter, run: (emit: () => boolean) => boolean): void {
  const emit = emitter.emit.bind(emitter);
  emitter.emit = (...args: Parameters<typeof emit>) => run(() => emit(...args));
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

/** How long a client may take to read its last response before the connection is closed over what it still sends. */
const LINGER_MS = 1000;

/** The client closed its side in the middle of a request: it is disconnected, and reads no response. */
const CLIENT_LEFT = 'HPE_INVALID_EOF_STATE';

/** Decides what happens to the socket of a connection that no longer speaks HTTP as it should. */
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

/** How much a client may send that is kept unparsed. Beyond that its connection is not read. */
const MOST_UNPARSED = 2_097_152;

type DataListener = (chunk: Buffer) => void;

/**
 * Stands between a socket and Node's parser, from the moment a client has pipelined more requests than may wait.
 *
 * The socket is read all the time, because Node does not notice otherwise that a client leaves. The parser gets the bytes later: when
 * few requests wait for their turn, and when Node has not called `pause()` on the socket, as it does while too many bytes of responses or
 * of a body wait for their reader. Node asserts that no data comes until it calls `resume()` itself. So both methods of this socket are
 * replaced: they hold back the parser instead of the network. What is kept is limited: a client cannot fill our memory.
 *
 * A chunk of 64 KB may hold 2,000 requests, so the parser is stopped in the midst of one, too.
 */
export class UnparsedInput {
  readonly #socket: Socket;
  readonly #parser: Parser;
  readonly #host: RequestHost;
  readonly #isHeld: () => boolean;
  /** Node's own, of the socket; undefined as long as the parser reads from the network by itself. */
  #listener: DataListener | undefined = undefined;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** Node has called `pause()`. */
  #isPaused = false;
  /** No more is read from the network. */
  #isFull = false;
  #isScheduled = false;

  /**
   * May be made while a chunk is being parsed.
   *
   * @param socket - speaks HTTP/1
   * @param host - limits what is kept on all connections together, and shares out the time for parsing it
   * @param isHeld - whether the parser may get nothing now; call `parseOn()` when that may have changed
   */
  constructor(socket: Socket, host: RequestHost, isHeld: () => boolean) {
    const parser = (socket as ServedSocket).parser as Parser;
    this.#socket = socket;
    this.#parser = parser;
    this.#host = host;
    this.#isHeld = isHeld;
    const { onIncoming } = parser;
    const { kOnExecute } = parser.constructor;
    const onExecute = parser[kOnExecute] as Parser[number];
    parser.onIncoming = (req, shouldKeepAlive) => {
      // Behind one that asks for an upgrade the parser ends the chunk by itself, and reports no stop.
      const { upgrade } = req as { upgrade?: boolean };
      const special = onIncoming(req, shouldKeepAlive);
      return special === 0 && !upgrade && (socket.isPaused() || this.#isPaused || isHeld()) ? STOP : special;
    };
    parser[kOnExecute] = (result) => onExecute(isStop(result) ? this.#stop(result, parser.getCurrentBuffer()) : result);
    process.nextTick(this.#takeOver);
  }

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Gives the parser what is kept, a chunk at a time, as soon as it may get it. */
  parseOn(): void {
    if (this.#isScheduled || this.#kept.length === 0 || !this.#mayParse) return;
    this.#isScheduled = true;
    this.#host.soon(this.#parseNext);
  }

  /** The connection no longer speaks HTTP: what is kept belongs to the new protocol. */
  leave(): void {
    const socket = this.#socket;
    const rest = this.#kept;
    this.drop();
    socket.off('data', this.#receive);
    Reflect.deleteProperty(socket, 'pause');
    Reflect.deleteProperty(socket, 'resume');
    if (rest.length > 0 && !socket.readableEnded) socket.unshift(Buffer.concat(rest));
  }

  /** The connection has closed. */
  drop(): void {
    this.#host.release(this.#keptBytes);
    this.#kept = [];
    this.#keptBytes = 0;
  }

  get #mayParse(): boolean {
    return this.#listener !== undefined && !this.#isPaused && !this.#isHeld();
  }

  /** From now on all data comes to us first. */
  readonly #takeOver = (): void => {
    const socket = this.#socket;
    if (socket.destroyed || !speaksHttp(socket)) return;
    this.#isPaused = socket.isPaused();
    // Node's own is the first. Those of the application see the bytes when they come.
    [this.#listener] = socket.listeners('data') as DataListener[];
    socket.on('data', this.#receive);
    if (this.#listener) socket.off('data', this.#listener);
    socket.pause = () => {
      this.#isPaused = true;
      return socket;
    };
    socket.resume = () => {
      this.#isPaused = false;
      this.parseOn();
      return this.#read();
    };
    this.#read();
    readOn(socket);
    this.parseOn();
  };

  readonly #receive = (chunk: Buffer): void => {
    if (this.#kept.length === 0 && this.#mayParse) return this.#parse(chunk);
    this.#kept.push(chunk);
    this.#keptBytes += chunk.length;
    const hasRoom = this.#host.keep(chunk.length) && this.#keptBytes < MOST_UNPARSED;
    if (hasRoom) return undefined;
    this.#isFull = true;
    Socket.prototype.pause.call(this.#socket);
    return undefined;
  };

  readonly #parseNext = (): void => {
    this.#isScheduled = false;
    if (!this.#mayParse) return;
    const chunk = this.#kept.shift();
    if (!chunk) return;
    this.#keptBytes -= chunk.length;
    this.#host.release(chunk.length);
    this.#isFull = false;
    this.#read();
    this.#parse(chunk);
    this.parseOn();
  };

  #parse(chunk: Buffer): void {
    const parser = this.#parser;
    const execute = (bytes: Buffer): unknown => {
      // The method of all parsers: this one may be at another socket by the end of this chunk.
      Reflect.deleteProperty(parser, 'execute');
      const result = parser.execute(bytes);
      return isStop(result) ? this.#stop(result, bytes) : result;
    };
    parser.execute = execute;
    this.#listener?.call(this.#socket, chunk);
    if (!speaksHttp(this.#socket)) this.leave();
  }

  /** Keeps what the parser did not get to, and returns what it returns where there was no more. */
  #stop({ bytesParsed }: Stop, bytes: Buffer): number {
    const rest = bytes.subarray(bytesParsed);
    this.#parser.resume();
    // Completes a request without a body.
    this.#parser.execute(bytes.subarray(0, 0));
    if (rest.length > 0) {
      this.#kept.unshift(rest);
      this.#keptBytes += rest.length;
      this.#host.keep(rest.length);
    }
    return bytesParsed;
  }

  #read(): Socket {
    return this.#isFull ? this.#socket : Socket.prototype.resume.call(this.#socket);
  }
}

/** To Node's parser this result of `onIncoming` is an error, behind which it can go on. */
const STOP = 21;

interface Stop extends Error {
  readonly bytesParsed: number;
}

function isStop(result: unknown): result is Stop {
  return result instanceof Error && 'code' in result && result.code === 'HPE_PAUSED';
}

type Method = (...args: unknown[]) => unknown;
/** Methods that not every response has: `send` of Express, and `flush` of middlewares that compress. */
type Added = 'flush' | 'send';
export type Sender = 'end' | 'flushHeaders' | 'write' | 'writeHead';
export type Sending = Sender | Added;
export type Methods = Record<Sender | 'on', Method> & Partial<Record<Added, Method>>;

const GATE = Symbol('ambit.gate');

/** The methods by which a response is sent, and its listeners added. */
export function methodsOf(res: object): Methods {
  const { end, flush, flushHeaders, on, send, write, writeHead } = res as Methods;
  return { end, flushHeaders, on, write, writeHead, ...(flush && { flush }), ...(send && { send }) };
}

/** All responses share these functions: with functions of its own, each response would have a shape of its own to V8. */
const DIVERTED: Methods & ThisType<{ readonly [GATE]: ResponseGate }> = {
  end(...args) {
    return this[GATE].receive(0, 'end', args);
  },
  flushHeaders(...args) {
    return this[GATE].receive(0, 'flushHeaders', args);
  },
  on(...args) {
    return this[GATE].on(args);
  },
  write(...args) {
    return this[GATE].receive(0, 'write', args);
  },
  writeHead(...args) {
    return this[GATE].receive(0, 'writeHead', args);
  },
};

const WITH_FLUSH: Pick<Methods, 'flush'> & ThisType<{ readonly [GATE]: ResponseGate }> = {
  flush(...args) {
    return this[GATE].receive(0, 'flush', args);
  },
};

const WITH_SEND: Pick<Methods, 'send'> & ThisType<{ readonly [GATE]: ResponseGate }> = {
  send(...args) {
    return this[GATE].receive(0, 'send', args);
  },
};

/** The gate receives from now on what would send the response. */
export function divert(res: ServerResponse, gate: ResponseGate, { flush, send }: Methods): void {
  Object.assign(res, { [GATE]: gate }, DIVERTED, flush && WITH_FLUSH, send && WITH_SEND);
}

/** Diverts the next response, below all that was wrapped around the methods of the one before. */
export function divertAgain(res: ServerResponse, gate: ResponseGate, { flush, send }: Methods, turn: number): void {
  const receiver =
    (method: Sending): Method =>
    (...args) =>
      gate.receive(turn, method, args);
  Object.assign(res, {
    end: receiver('end'),
    flushHeaders: receiver('flushHeaders'),
    on: DIVERTED.on,
    write: receiver('write'),
    writeHead: receiver('writeHead'),
    ...(flush && { flush: receiver('flush') }),
    ...(send && { send: receiver('send') }),
  });
}
