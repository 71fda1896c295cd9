import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2Stream, type ServerHttp2Session } from 'node:http2';
import { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { checkCount } from '@ambit/host';
import type { ConnectedRequest } from './connected-request.js';
import {
  closeBehindResponses,
  finishBeforeErrors,
  hasNoRequest,
  isLast,
  replaceCloseIdle,
  restoreCloseIdle,
  serverOf,
  speaksHttp,
  UnparsedInput,
  whileUnfinished,
} from './node-internals.js';

/** The same on every host. */
export interface LoadOptions {
  /**
   * How many requests may be in progress in the application. A further one is refused with `AMBIT_HTTP_OVERLOADED`, which
   * is 503 with `Retry-After`. Default: one for each 64 KB of the heap's limit, for example 8,192 for 512 MB.
   */
  readonly maxRequests?: number;
  /**
   * How many requests of one connection may be in progress. Further ones that the client pipelines wait and do not count
   * as in progress; what the client sends meanwhile is not parsed until they have begun. Default 100.
   */
  readonly maxRequestsPerConnection?: number;
  /** Requests that are never refused, such as the liveness probe. Default: none. */
  readonly isEssential?: (request: IncomingMessage) => boolean;
}

/** A request that waits for the database holds about 15 to 30 KB. */
const HEAP_PER_REQUEST = 65_536;

/** How much of the heap's limit the bytes may take that clients have sent and that are not parsed yet. */
const UNPARSED_SHARE = 1 / 16;

/** How long pipelined requests may keep the event loop busy before everybody else has a turn. */
const SLICE_MS = 10;

/**
 * How many requests are in progress or wait for their turn, and whether there may be one more. A host makes one, for all its requests.
 *
 * @example
 * ```ts
 * import { Load, type RequestHost } from '@ambit/http/host';
 *
 * const host: RequestHost = { load: new Load({ maxRequests: 500 }), onDisposeError: console.error };
 * ```
 */
export class Load {
  /** @internal */
  readonly maxPerConnection: number;
  readonly #max: number;
  readonly #mostWaiting: number;
  readonly #isEssential: ((request: IncomingMessage) => boolean) | undefined;
  #inProgress = 0;
  #waiting = 0;
  #unparsedLeft = getHeapStatistics().heap_size_limit * UNPARSED_SHARE;
  readonly #soon: (() => void)[] = [];
  /** When the first of them was called in this iteration of the event loop. */
  #sliceSince: number | undefined = undefined;

  /**
   * Reads the limits.
   *
   * @param options - the limits. Default: `maxRequests` by the size of the heap, 100 per connection
   * @throws `HttpError` `AMBIT_HTTP_OPTION`: a limit is no whole number from 1 on
   */
  constructor({ maxRequests, maxRequestsPerConnection = 100, isEssential }: LoadOptions) {
    const affordable = Math.ceil(getHeapStatistics().heap_size_limit / HEAP_PER_REQUEST);
    this.#max = maxRequests ?? affordable;
    this.#mostWaiting = affordable;
    this.maxPerConnection = maxRequestsPerConnection;
    this.#isEssential = isEssential;
    checkCount('maxRequests', this.#max);
    checkCount('maxRequestsPerConnection', maxRequestsPerConnection);
  }

  /**
   * @internal Whether the request is taken on; if so, `leave()` must follow once.
   */
  enter(request: IncomingMessage): boolean {
    if (this.#inProgress >= this.#max && !this.#isEssential?.(request)) return false;
    this.#inProgress += 1;
    return true;
  }

  /** @internal */
  leave(): void {
    this.#inProgress -= 1;
  }

  /**
   * @internal Whether the request may wait for its turn on its connection; if so, `endWait()` must follow once.
   */
  wait(request: IncomingMessage): boolean {
    if (this.#waiting >= this.#mostWaiting && !this.#isEssential?.(request)) return false;
    this.#waiting += 1;
    return true;
  }

  /** @internal */
  endWait(): void {
    this.#waiting -= 1;
  }

  /**
   * @internal Counts bytes that are kept unparsed; `release()` must follow once. Returns whether there may be more.
   */
  keep(bytes: number): boolean {
    this.#unparsedLeft -= bytes;
    return this.#unparsedLeft > 0;
  }

  /** @internal */
  release(bytes: number): void {
    this.#unparsedLeft += bytes;
  }

  /**
   * @internal Calls `act` for a connection that pipelines, when other connections and timers have had their turn. Each such connection
   * comes once in a while: first come, first served.
   */
  soon(act: () => void): void {
    this.#soon.push(act);
    setImmediate(this.#actNext);
  }

  /** Between two of these, Node runs all that the first has resolved: it is the work of the request that has begun, too. */
  readonly #actNext = (): void => {
    if (this.#sliceSince === undefined) {
      this.#sliceSince = performance.now();
      // In the next iteration of the event loop, before all that is put off until then.
      setImmediate(() => (this.#sliceSince = undefined));
    } else if (performance.now() - this.#sliceSince > SLICE_MS) {
      setImmediate(this.#actNext);
      return;
    }
    this.#soon.shift()?.();
  };
}

const CONNECTION = Symbol('ambit.connection');

/** What dies under its requests: a socket of HTTP/1, or a stream of HTTP/2, which carries one request. */
type Channel = (Http2Stream | Socket) & { [CONNECTION]?: Connection };

/**
 * The active requests of one connection, as a list linked through them. When a socket dies, Node notifies only the first
 * of its pipelined requests, so this one listens to the socket for all of them.
 */
export class Connection {
  /** Undefined where the request came through no server. */
  readonly connections: Connections | undefined;
  newest: ConnectedRequest | undefined = undefined;
  readonly #channel: Channel;
  readonly #isHttp2: boolean;
  #isFinishing = false;
  /** The response that says `Connection: close`. */
  #closing: ServerResponse | undefined = undefined;
  #inProgress = 0;
  /** Pipelined requests that have not begun; made for the first of them. */
  #waiting: (() => void)[] | undefined = undefined;
  /** That of the requests that wait. */
  #load: Load | undefined = undefined;
  #isTurnScheduled = false;
  /** Made when more requests than the limit have come. */
  #input: UnparsedInput | undefined = undefined;

  private constructor(channel: Channel, connections: Connections | undefined) {
    this.#channel = channel;
    this.#isHttp2 = 'rstCode' in channel;
    this.connections = connections;
    if (!this.isAlive) return;
    channel[CONNECTION] = this;
    channel.on('close', this.#lose);
    connections?.add(this, channel);
  }

  /** That of a request which is not the first one of its connection. */
  static of(req: IncomingMessage): Connection | undefined {
    return (channelOf(req) as Channel)[CONNECTION];
  }

  static open(req: IncomingMessage, connections: Connections | undefined): Connection {
    return new Connection(channelOf(req), connections);
  }

  /** Whether the connection has complete requests to respond to: it is closed behind them, and others are lost. */
  static finishOn(socket: Socket): boolean {
    return (socket as Channel)[CONNECTION]?.finish() ?? false;
  }

  get isAlive(): boolean {
    const channel = this.#channel;
    return !channel.closed && !(this.#isHttp2 && channel.destroyed);
  }

  /** The connection of a socket speaks another protocol from now on. */
  static leaveHttp(socket: Socket): void {
    const connection = (socket as Channel)[CONNECTION];
    if (connection) connection.#input?.leave();
  }

  /** It closes behind the requests that it has. */
  get isFinishing(): boolean {
    return this.#isFinishing;
  }

  *[Symbol.iterator](): Generator<ConnectedRequest> {
    for (let request = this.newest, older; request; request = older) {
      older = request.older;
      yield request;
    }
  }

  add(request: ConnectedRequest): void {
    request.older = this.newest;
    if (this.newest) this.newest.newer = request;
    this.newest = request;
  }

  remove(request: ConnectedRequest): void {
    const { older, newer } = request;
    if (older) older.newer = newer;
    if (newer) newer.older = older;
    else this.newest = older;
    request.older = request.newer = undefined;
    // That of an injected request is no socket: kept until it closes, it would be kept forever.
    // Another stream that is a connection has a parser, which must get nothing more when it closes.
    if (!this.newest && !this.#isHttp2 && !this.#input && !(this.#channel instanceof Socket)) this.#forget();
  }

  /** Whether a request may begin at once, as one that is not pipelined may; if so, `passTurn()` must follow. */
  takeTurn(): boolean {
    if (this.#inProgress > 0 || this.#waiting?.length) return false;
    this.#inProgress = 1;
    return true;
  }

  /** Calls `begin` when it is its turn, unless the connection closes before; `passTurn()` must follow. */
  waitForTurn(load: Load, begin: () => void): void {
    (this.#waiting ??= []).push(begin);
    this.#load = load;
    this.#scheduleTurn();
    // Not while a chunk is being parsed, which may contain CONNECT or garbage at its end.
    if (this.#isOverLimit && !this.#input) process.nextTick(this.#holdInput);
  }

  /** The one that waits with `begin` gets the next turn, as no other response can leave before its own. */
  putFirst(begin: () => void): void {
    const waiting = this.#waiting;
    const place = waiting?.indexOf(begin) ?? -1;
    if (place > 0) waiting?.unshift(...waiting.splice(place, 1));
  }

  passTurn(): void {
    this.#inProgress -= 1;
    this.#scheduleTurn();
    this.#input?.parseOn();
  }

  /** Whether all turns are taken, so that a request that waits begins only when another one has finished. */
  get isFull(): boolean {
    return this.#inProgress >= (this.#load?.maxPerConnection ?? Infinity);
  }

  /** One at a time for each connection: the requests of other connections, and whatever else happens, come in between. */
  #scheduleTurn(): void {
    if (this.#isTurnScheduled || !this.#waiting?.length || this.isFull) return;
    this.#isTurnScheduled = true;
    this.#load?.soon(this.#giveTurn);
  }

  readonly #giveTurn = (): void => {
    this.#isTurnScheduled = false;
    const begin = this.isFull ? undefined : this.#waiting?.shift();
    if (!begin) return;
    this.#inProgress += 1;
    begin();
    this.#scheduleTurn();
    this.#input?.parseOn();
  };

  get #isOverLimit(): boolean {
    return this.#inProgress + (this.#waiting?.length ?? 0) > (this.#load?.maxPerConnection ?? Infinity);
  }

  readonly #holdInput = (): void => {
    const socket = this.#channel as Socket;
    if (this.#input || !this.#load || !this.#isOverLimit || !this.isAlive || !speaksHttp(socket)) return;
    this.#input = new UnparsedInput(socket, this.#load, () => this.#isOverLimit);
  };

  finish(): boolean {
    if (this.#isFinishing) return true;
    let last = this.newest;
    while (last && !last.req.complete) last = last.older;
    if (!last) return false;
    this.#isFinishing = true;
    const socket = this.#channel as Socket;
    while (this.newest && this.newest !== last) this.newest.lose();
    closeBehindResponses(socket);
    this.sayClose(last.res);
    // The head may have left before it could say so.
    last.res.once('finish', () => socket.destroySoon());
    return true;
  }

  /** Of pipelined responses only the last may say it: Node closes the connection behind it, with all that waits there. */
  sayClose(res: ServerResponse): void {
    if (this.#isHttp2) return;
    this.#takeBackClose();
    this.#closing = res;
    this.#closing.shouldKeepAlive = false;
  }

  /** For the requests that are active when the server begins to close. */
  sayCloseOnLast(): void {
    for (const { res } of this) if (isLast(res)) return this.sayClose(res);
  }

  /** For a request that a middleware kept meanwhile: nobody knows which of the others came before it and which behind. */
  sayCloseLate({ res, older }: ConnectedRequest): void {
    if (this.#closing === res) return;
    if (res.hasHeader('connection') || (!older && !this.#closing)) this.sayClose(res);
    // The connection will be closed when it is idle.
    else this.#takeBackClose();
  }

  #takeBackClose(): void {
    const res = this.#closing;
    this.#closing = undefined;
    if (!res) return;
    // Fastify has said it as well.
    if (!res.headersSent && res.getHeader('connection') === 'close') res.removeHeader('connection');
    res.shouldKeepAlive = true;
  }

  readonly #lose = (): void => {
    this.#forget();
    this.#waiting = undefined;
    this.#input?.drop();
    while (this.newest) this.newest.lose();
  };

  #forget(): void {
    const channel = this.#channel;
    channel.off('close', this.#lose);
    delete channel[CONNECTION];
    this.connections?.delete(this);
  }
}

function channelOf(req: IncomingMessage): Http2Stream | Socket {
  // Who speaks HTTP/1 may write another version, too.
  if (req.httpVersionMajor > 1 && 'stream' in req) return (req as unknown as Http2ServerRequest).stream;
  return req.socket;
}

const CONNECTIONS = Symbol('ambit.connections');

/** How often idle connections of a server that closes are closed, and streams and requests that Node has forgotten. */
const REAP_EVERY_MS = 250;

interface ServerWithConnections extends Server {
  [CONNECTIONS]?: Connections;
}

/**
 * The connections of one server, and how they are closed.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { Connections } from '@ambit/http/host';
 *
 * const server = createServer((_req, res) => void res.end('hello')).listen(3000);
 * const connections = Connections.of(server);
 * connections.close();
 * server.close(() => connections.closed());
 * ```
 */
export class Connections {
  readonly #server: ServerWithConnections;
  /** Also those that have left HTTP, of which Node's server forgets: WebSockets, and the tunnels of CONNECT. */
  readonly #accepted = new Set<Socket>();
  /** Those that have had a request. */
  readonly #connections = new Set<Connection>();
  readonly #streams = new Set<Http2Stream>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #reaping: NodeJS.Timeout | undefined = undefined;
  /** `close()` was called. Every request reads it: a property costs less than a getter. */
  isClosing = false;
  #closingSince = 0;
  #keepIdleMs = 0;
  /** A request has come to us. */
  #isServing = false;

  static readonly #acceptedByAnyServer = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    const server = serverOf(socket);
    // Those of servers that do not speak HTTP are no business of ours.
    if (server && 'timeout' in server) Connections.of(server).#meet(socket);
  };
  static #isWatching = false;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => this.#meet(socket));
    // The one below has read a handshake. Only this one knows whether a request came.
    server.on('secureConnection', (socket: Socket) => this.#meet(socket));
    server.on('session', (session: ServerHttp2Session) => this.#meetSession(session));
  }

  /**
   * Those of the server; the same object at each call.
   *
   * @param server - a server of `node:http`, `node:https` or `node:http2`
   * @returns its connections
   */
  static of(server: Server): Connections {
    const served = server as ServerWithConnections;
    return (served[CONNECTIONS] ??= new Connections(served));
  }

  /**
   * Those of the server that a request came to.
   *
   * @param socket - the socket of the request
   * @returns undefined if the request came through no server, but was injected
   */
  static ofSocket(socket: Socket): Connections | undefined {
    const server = serverOf(socket);
    return server && Connections.of(server);
  }

  /** From now on every connection is known that an HTTP server of this process accepts: no server lists them later. */
  static watch(): void {
    if (!this.#isWatching) subscribe('net.server.socket', this.#acceptedByAnyServer);
    this.#isWatching = true;
  }

  /** @internal The requests in progress. */
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
    if (!this.#isServing)
      finishBeforeErrors(this.#server, {
        finishOn: (socket) => Connection.finishOn(socket),
        leaveHttp: (socket) => Connection.leaveHttp(socket),
      });
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
   * closed. `closed()` must follow.
   *
   * @param keepIdleMs - how long those stay open for a request that is on its way already
   */
  close(keepIdleMs = 0): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.#closingSince = performance.now();
    this.#keepIdleMs = keepIdleMs;
    this.#server.prependListener('request', this.#sayClose);
    for (const connection of this.#connections) connection.sayCloseOnLast();
    for (const session of this.#sessions) session.close();
    this.#spareResponses();
    // Restarted, so that connections have one whole interval to become idle by themselves.
    this.#stopReaping();
    this.startReaping();
  }

  /** The server has closed: takes back what `close()` has changed, so that it may listen again. */
  closed(): void {
    this.isClosing = false;
    this.#stopReaping();
    this.#server.off('request', this.#sayClose);
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

  /** Resolves when every request that is active now has finished. */
  async whenFinished(): Promise<void> {
    await Promise.all(Array.from(this.requests(), (request) => request.whenFinished()));
  }

  readonly #sayClose = (req: IncomingMessage, res: ServerResponse): void => {
    (Connection.of(req) ?? Connection.open(req, this)).sayClose(res);
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

  /** To Node a connection is idle when `end()` of its response was called, though a slow client may not have all of it yet. */
  #spareResponses(): void {
    replaceCloseIdle(this.#server, (closeIdle) => {
      if (this.#keepsIdle) return;
      const leaving: ServerResponse[] = [];
      for (const { req, res } of this.requests())
        if (res.writableEnded && req.httpVersionMajor === 1) leaving.push(res);
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
    for (const request of this.requests()) request.finishIfSent();
    if (this.isClosing) this.#closeIdle();
  }

  /** A response whose head was sent when the server began to close leaves its connection open; soon after, it is idle. */
  #closeIdle(): void {
    if (this.#keepsIdle) return;
    const server = this.#server;
    server.closeIdleConnections?.();
    // A server of Node that closes does not look any more whether heads are late.
    const isLate = performance.now() - this.#closingSince > (server.headersTimeout || Infinity);
    for (const socket of this.#accepted) {
      if (socket.bytesRead === 0 || (isLate && hasNoRequest(socket))) socket.destroy();
    }
  }
}

/** Node forgets a stream that its client resets with NO_ERROR before it has its response: it never closes. */
function destroyIfForgotten(stream: Http2Stream): void {
  if (stream.closed && !stream.destroyed && stream.state.state === constants.NGHTTP2_STREAM_STATE_IDLE)
    stream.destroy();
}
