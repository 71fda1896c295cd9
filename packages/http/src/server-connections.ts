import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { constants, type Http2Stream, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { getHeapStatistics } from 'node:v8';
import type { ConnectedRequest, Connection } from './connection.js';
import {
  listenAlone,
  type Channel,
  channelOf,
  CONNECTION,
  finishBeforeErrors,
  hasNoRequest,
  isHeadSent,
  isLast,
  replaceCloseIdle,
  responseOn,
  restoreCloseIdle,
  serverOf,
  whileUnfinished,
} from './node-internals.js';

const CONNECTIONS = Symbol('ambit.connections');

/** A server that closes looks this often for idle connections, and for streams and requests that Node has forgotten. */
const REAP_EVERY_MS = 250;

/** The time that a client may take for the rest of a request's head, or of a TLS handshake, once a server closes: they come at once if at all. */
const LATE_HEAD_MS = 1000;

/** The first turn may be over before anything is accepted or read. */
const QUIET_TURNS = 3;
/** Clients that know nothing of the shutdown go on to connect. A turn of a busy process takes long. */
const MOST_TURNS = 64;
const MOST_ACCEPTING_MS = 2000;

/** The share of the heap's limit that unread responses and requests beyond the limit of a connection may take together. */
const HELD_SHARE = 1 / 4;
const LOOK_EVERY_MS = 10;

interface ServerWithConnections extends Server {
  [CONNECTIONS]?: ServerConnections;
}

/**
 * The connections of one server, and how they are closed.
 */
export class ServerConnections {
  readonly #server: ServerWithConnections;
  /** All connections, also those that have left HTTP and that Node's server forgets: WebSockets, and the tunnels of CONNECT. */
  readonly #accepted = new Set<Socket>();
  readonly #connections = new Set<Connection>();
  readonly #streams = new Set<Http2Stream>();
  readonly #sessions = new Set<ServerHttp2Session>();
  /** The response of each connection that says `Connection: close`. */
  readonly #closing = new WeakMap<Channel, ServerResponse>();
  #reaping: NodeJS.Timeout | undefined = undefined;
  /** `close()` was called. Every request reads it: a property costs less than a getter. */
  isClosing = false;
  #closingSince = 0;
  #keepIdleMs = 0;
  /** A request has come to us. */
  #isServing = false;
  readonly #mostHeldBytes = getHeapStatistics().heap_size_limit * HELD_SHARE;
  #looksAt = 0;
  #holdsTooMuch = false;

  static readonly #acceptedByAnyServer = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    const server = serverOf(socket);
    // Servers that do not speak HTTP have no `timeout`.
    if (server && 'timeout' in server) ServerConnections.of(server).#meet(socket);
  };
  static #isWatching = false;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => this.#meet(socket));
    // The one below has read a handshake. Only this one knows whether a request came.
    server.on('secureConnection', (socket: Socket) => this.#meet(socket));
    server.on('session', (session: ServerHttp2Session) => this.#meetSession(session));
    listenAlone(server, 'checkContinue', (req: IncomingMessage, res: ServerResponse) => {
      continueWhenRead(req, res);
      server.emit('request', req, res);
    });
  }

  /**
   * Finds the connections of a server; the same object at each call.
   *
   * @param server - a server of `node:http`, `node:https` or `node:http2`
   * @returns its connections
   */
  static of(server: Server): ServerConnections {
    const served = server as ServerWithConnections;
    return (served[CONNECTIONS] ??= new ServerConnections(served));
  }

  /**
   * Finds the connections of the server that a request came to.
   *
   * @param socket - the socket of the request
   * @returns undefined if the request came through no server, but was injected
   */
  static ofSocket(socket: Socket): ServerConnections | undefined {
    const server = serverOf(socket);
    return server && ServerConnections.of(server);
  }

  /** From now on every connection is known that an HTTP server of this process accepts: no server lists them later. */
  static watch(): void {
    if (!this.#isWatching) subscribe('net.server.socket', this.#acceptedByAnyServer);
    this.#isWatching = true;
  }

  /**
   * Lists the requests in progress.
   *
   * @returns those of each connection, the newest first; also those of `inject()`
   */
  *requests(): Generator<ConnectedRequest> {
    for (const connection of this.#connections) yield* connection;
  }

  /**
   * Enters a connection on which the first request has come.
   *
   * @param connection - the connection
   * @param channel - its socket, or its stream of HTTP/2
   */
  add(connection: Connection, channel: Http2Stream | Socket): void {
    this.#connections.add(connection);
    if (!this.#isServing) finishBeforeErrors(this.#server);
    this.#isServing = true;
    if ('rstCode' in channel) this.#meetStream(channel);
  }

  /**
   * Removes a connection that has closed.
   *
   * @param connection - the connection
   */
  delete(connection: Connection): void {
    this.#connections.delete(connection);
  }

  /**
   * From now on, the last response on each connection says `Connection: close`, and connections that are idle or silent are
   * closed. `IShutdownSignal` of each request aborts. `closed()` must follow.
   *
   * @param keepIdleMs - how long those stay open for a request that is on its way already
   */
  close(keepIdleMs = 0): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.#closingSince = performance.now();
    this.#keepIdleMs = keepIdleMs;
    this.#server.prependListener('request', this.#onRequest);
    for (const connection of this.#connections) this.#sayCloseOnLast(connection);
    for (const session of this.#sessions) session.close();
    for (const request of this.requests()) request.shutDown();
    this.#spareResponses();
    // Restarted, so that connections have one whole interval to become idle by themselves.
    this.#stopReaping();
    this.startReaping();
  }

  /**
   * Accepts the connections that wait in the system's queue, and reads what they have sent: Node accepts one in each turn of the event loop,
   * and a server that stops to listen resets the others. A busy process has many.
   */
  async acceptWaiting(): Promise<void> {
    let quietTurns = 0;
    const onAccepted = (): void => void (quietTurns = 0);
    this.#server.on('connection', onAccepted);
    const end = performance.now() + MOST_ACCEPTING_MS;
    for (let turns = 0; turns < MOST_TURNS && performance.now() < end && quietTurns < QUIET_TURNS; turns++) {
      quietTurns++;
      await new Promise(setImmediate);
    }
    this.#server.off('connection', onAccepted);
  }

  /** The server has closed: takes back what `close()` has changed, so that it may listen again. */
  closed(): void {
    this.isClosing = false;
    this.#stopReaping();
    this.#server.off('request', this.#onRequest);
    restoreCloseIdle(this.#server);
  }

  /** Finishes requests of which no event says that they are finished, until the server has closed. */
  startReaping(): void {
    this.#reaping ??= setInterval(() => this.#reap(), REAP_EVERY_MS).unref();
  }

  /** Cuts all connections, WebSockets among them. */
  destroyAll(): void {
    this.#server.closeAllConnections?.();
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#accepted) socket.destroy();
  }

  /**
   * @internal Closes the connections that hold the most bytes where all together hold too many. Returns true until they have closed: Node
   * frees what they hold after it has read all requests that have arrived.
   */
  limitHeldBytes(): boolean {
    const now = performance.now();
    if (now < this.#looksAt) return this.#holdsTooMuch;
    this.#looksAt = now + LOOK_EVERY_MS;
    let total = 0;
    for (const connection of this.#connections) total += connection.heldBytes;
    this.#holdsTooMuch = total > this.#mostHeldBytes;
    if (this.#holdsTooMuch) this.#cutLargest(total);
    return this.#holdsTooMuch;
  }

  #cutLargest(total: number): void {
    let left = total;
    const held = Array.from(this.#connections, (connection) => ({ connection, bytes: connection.heldBytes }));
    for (const { connection, bytes } of held.toSorted((one, other) => other.bytes - one.bytes)) {
      connection.cut();
      left -= bytes;
      if (left <= this.#mostHeldBytes / 2) return;
    }
  }

  /** Resolves when every request that is active now has completed. */
  async whenFinished(): Promise<void> {
    await Promise.all(Array.from(this.requests(), (request) => request.whenCompleted()));
  }

  /**
   * @internal Of pipelined responses only the last may say it: Node closes the connection behind it, with all that waits there.
   */
  sayClose(res: ServerResponse): void {
    const channel = channelOf(res.req);
    if ('rstCode' in channel) return;
    this.#takeBackClose(channel);
    this.#closing.set(channel, res);
    res.shouldKeepAlive = false;
  }

  /** For the requests that are active when the server begins to close. */
  #sayCloseOnLast(requests: Iterable<ConnectedRequest>): void {
    for (const { res } of requests) if (isLast(res)) return this.sayClose(res);
  }

  /**
   * @internal For a request that a middleware kept meanwhile: nobody knows which of the others came before it and which behind.
   */
  sayCloseLate({ req, res, older }: ConnectedRequest): void {
    const channel = channelOf(req);
    const closing = this.#closing.get(channel);
    if (closing === res) return;
    if (res.hasHeader('connection') || (!older && !closing)) this.sayClose(res);
    // The connection will be closed when it is idle.
    else this.#takeBackClose(channel);
  }

  #takeBackClose(channel: Channel): void {
    const res = this.#closing.get(channel);
    this.#closing.delete(channel);
    if (!res) return;
    // Fastify has said it as well.
    if (!res.headersSent && res.getHeader('connection') === 'close') res.removeHeader('connection');
    res.shouldKeepAlive = true;
  }

  readonly #onRequest = (req: IncomingMessage, res: ServerResponse): void => {
    if (!channelOf(req)[CONNECTION]?.isFinishing) this.sayClose(res);
  };

  #meet(socket: Socket): void {
    if (this.#accepted.has(socket)) return;
    this.#accepted.add(socket);
    socket.once('close', () => this.#accepted.delete(socket));
  }

  /** Node closes sessions by itself from version 24 on. The streams in progress finish, and no more are taken. */
  #meetSession(session: ServerHttp2Session): void {
    if (this.#sessions.has(session)) return;
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    if (this.isClosing) session.close();
  }

  #meetStream(stream: Http2Stream): void {
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    if (stream.session) this.#meetSession(stream.session as ServerHttp2Session);
    this.startReaping();
  }

  /** Node takes a connection for idle when `end()` of its response was called, though a slow client may not have all of it yet. */
  #spareResponses(): void {
    replaceCloseIdle(this.#server, (closeIdle) => {
      if (this.#keepsIdle) return;
      const leaving: ServerResponse[] = [];
      for (const { req, res } of this.requests()) {
        if (req.httpVersionMajor !== 1) continue;
        // It may wait for one before it that is all written, and that Node has not let go of yet.
        for (const each of [res, responseOn(req.socket)]) if (each?.writableEnded) leaving.push(each);
      }
      whileUnfinished(leaving, closeIdle);
    });
  }

  get #keepsIdle(): boolean {
    return performance.now() - this.#closingSince < this.#keepIdleMs;
  }

  #stopReaping(): void {
    clearInterval(this.#reaping);
    this.#reaping = undefined;
  }

  #reap(): void {
    for (const stream of this.#streams) destroyIfForgotten(stream);
    for (const request of this.requests()) request.completeIfSent();
    if (this.isClosing) this.#closeIdle();
  }

  /** A response whose head was sent when the server began to close leaves its connection open; soon after, it is idle. */
  #closeIdle(): void {
    if (this.#keepsIdle) return;
    const server = this.#server;
    server.closeIdleConnections?.();
    // A server of Node that closes does not look any more whether heads are late.
    const isLate = performance.now() - this.#closingSince - this.#keepIdleMs > LATE_HEAD_MS;
    const secured = isLate && 'setSecureContext' in server ? this.#secured() : undefined;
    const silent: Socket[] = [];
    for (const socket of this.#accepted) {
      const isHalf = secured && !(socket instanceof TLSSocket) ? !secured.has(nameOf(socket)) : hasNoRequest(socket);
      if (isLate && isHalf) socket.destroy();
      else if (socket.bytesRead === 0) silent.push(socket);
    }
    // Node reads bytes that have arrived before setImmediate() calls back: close only sockets that are silent even then.
    setImmediate(() => {
      for (const socket of silent) if (socket.bytesRead === 0) socket.destroy();
    });
  }

  /** The clients whose TLS handshake is done: each has a socket of TLS and one below it. */
  #secured(): Set<string> {
    return new Set([...this.#accepted].filter((socket) => socket instanceof TLSSocket).map(nameOf));
  }
}

const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** A client that expects `100 Continue` gets it when its body is first read: one that is refused before need not send it. */
function continueWhenRead(req: IncomingMessage, res: ServerResponse): void {
  req._read = (size) => {
    Reflect.deleteProperty(req, '_read');
    if (!isHeadSent(res)) res.writeContinue();
    req._read(size);
  };
}

/** Node forgets a stream that its client resets with NO_ERROR before it has its response: it never closes. */
function destroyIfForgotten(stream: Http2Stream): void {
  if (stream.closed && !stream.destroyed && stream.state.state === constants.NGHTTP2_STREAM_STATE_IDLE)
    stream.destroy();
}
