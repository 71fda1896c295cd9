import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse, Http2Stream } from 'node:http2';
import { Socket } from 'node:net';
import type { Load } from './load.js';
import { isLast, isResponding, passOnDrain, speaksHttp } from './node-internals.js';
import { UnparsedInput } from './unparsed-input.js';

const CONNECTION = Symbol('ambit.connection');

/** What dies under its requests: a socket of HTTP/1, or a stream of HTTP/2, which carries one request. */
type Channel = (Http2Stream | Socket) & { [CONNECTION]?: Connection };

/**
 * The active requests of one connection, as a list linked through them. When a socket dies, Node notifies only the first
 * of its pipelined requests, so this one listens to the socket for all of them.
 */
export class Connection {
  /** Undefined where the request came through no server. */
  readonly connections: ConnectionList<Connection> | undefined;
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

  private constructor(channel: Channel, connections: ConnectionList<Connection> | undefined) {
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

  static open(req: IncomingMessage, connections: ConnectionList<Connection> | undefined): Connection {
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
function closeBehindResponses(socket: Socket): void {
  socket.once('end', () => socket.destroy());
  let closing: NodeJS.Timeout | undefined;
  // A socket that is destroyed over unread input resets the connection, and takes the response away from the client.
  socket.destroySoon = () => {
    closing ??= setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.end();
  };
  socket.once('close', () => clearTimeout(closing));
}

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
