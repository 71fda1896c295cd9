import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { Socket } from 'node:net';
import { closeBehindResponses } from './client-errors.js';
import { isAbandoned, isLast } from './internals.js';
import type { RequestLife } from './request-life.js';
import { Turns } from './turns.js';

/**
 * The requests alive on each socket. When a socket dies, Node says so to the first of its pipelined requests only; the
 * others would live for ever.
 */
export class Connections {
  readonly #bySocket = new Map<Socket, Connection>();
  /** The streams of HTTP/2, which share no state of ours. */
  readonly #streams = new Connection();
  #areClosing = false;

  add(request: IncomingMessage, life: RequestLife): void {
    const { socket, httpVersionMajor } = request;
    // Whoever speaks HTTP/1 may write another version, too.
    if (httpVersionMajor > 1 && 'stream' in request) {
      // Each stream hears of its end, which its response does not always do, and the socket they share is out of bounds.
      const { stream } = request as unknown as Http2ServerRequest;
      // An asynchronous hook before ours may have kept it for longer than the client stayed; the same below.
      if (stream.closed || stream.destroyed) life.over();
      else {
        this.#streams.add(life);
        stream.once('close', () => life.over());
      }
      return;
    }
    const connection = this.#bySocket.get(socket) ?? this.#meet(socket);
    connection.add(life);
    if (connection.isFinishing) life.over();
    else if (this.#areClosing) connection.sayGoodbyeBehind(life);
    if (socket.closed) life.over();
  }

  /** From now on, the last answer on each connection says that it is. */
  close(): void {
    this.#areClosing = true;
    for (const connection of this.#bySocket.values()) connection.sayGoodbye();
  }

  /** Ends those that were answered, or can no longer be, and did not hear of it. */
  endAnswered(): void {
    for (const life of this.inFlight()) {
      const { response } = life;
      if (response.writableFinished || response.destroyed || isAbandoned(response)) life.over();
    }
    for (const { response } of this.#streams) destroyIfForgotten(response as unknown as Http2ServerResponse);
  }

  *inFlight(): Generator<RequestLife> {
    yield* this.onSockets();
    yield* this.#streams;
  }

  /** Those of HTTP/1. */
  *onSockets(): Generator<RequestLife> {
    for (const connection of this.#bySocket.values()) yield* connection;
  }

  /** Whether the connection has complete requests to answer: it is closed behind them, and others end at once. */
  finishOn(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.finish(socket) ?? false;
  }

  #meet(socket: Socket): Connection {
    if (socket.closed) return new Connection(socket);
    const lose = (): void => {
      this.#bySocket.delete(socket);
      for (const life of connection) life.over();
    };
    const forget = (): void => {
      this.#bySocket.delete(socket);
      socket.off('close', lose);
    };
    // That of an injected request is none: kept until it closes, it would be kept for ever.
    const connection = new Connection(socket, isSocket(socket) ? undefined : forget);
    this.#bySocket.set(socket, connection);
    socket.on('close', lose);
    return connection;
  }
}

/** Node forgets a stream that its client resets with NO_ERROR before it has its response: it never closes. */
function destroyIfForgotten({ stream }: Http2ServerResponse): void {
  if (stream.closed && !stream.destroyed && stream.state.state === constants.NGHTTP2_STREAM_STATE_IDLE)
    stream.destroy();
}

function isSocket(socket: unknown): boolean {
  return socket instanceof Socket;
}

/** The requests of one socket: a list linked through them, because two sets per request cost more than all the rest. */
export class Connection {
  readonly turns: Turns | undefined;
  #isFinishing = false;
  #newest: RequestLife | undefined = undefined;
  /** Whose answer was told to be the last here. */
  #last: ServerResponse | undefined = undefined;
  readonly #onEmpty: (() => void) | undefined;

  constructor(socket?: Socket, onEmpty?: () => void) {
    this.turns = socket && new Turns(socket);
    this.#onEmpty = onEmpty;
  }

  /** It closes behind the requests that it has. */
  get isFinishing(): boolean {
    return this.#isFinishing;
  }

  finish(socket: Socket): boolean {
    if (this.#isFinishing) return true;
    let last = this.#newest;
    while (last && !last.response.req.complete) last = last.older;
    if (!last) return false;
    this.#isFinishing = true;
    while (this.#newest !== last) this.#newest?.over();
    closeBehindResponses(socket);
    if (this.#last) takeBackGoodbye(this.#last);
    this.#sayGoodbye(last.response);
    // The head may have left before it could say so.
    last.response.once('finish', () => socket.destroySoon());
    return true;
  }

  add(life: RequestLife): void {
    life.connection = this;
    life.older = this.#newest;
    if (this.#newest) this.#newest.newer = life;
    this.#newest = life;
  }

  remove(life: RequestLife): void {
    const { older, newer } = life;
    if (older) older.newer = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    life.connection = life.older = life.newer = undefined;
    if (!this.#newest) this.#onEmpty?.();
  }

  /** Of pipelined answers only the last may say it: Node ends the connection behind it, with all that waits there. */
  sayGoodbye(): void {
    for (const { response } of this) {
      if (!isLast(response)) continue;
      this.#sayGoodbye(response);
      return;
    }
  }

  /** For a request that comes, or is let go by an asynchronous hook before ours, while the server closes. */
  sayGoodbyeBehind({ response, older }: RequestLife): void {
    const last = this.#last;
    if (last) takeBackGoodbye(last);
    this.#last = undefined;
    // Fastify says it to those that come.
    const isNewest = response.hasHeader('connection');
    if (isNewest || (!older && !last)) this.#sayGoodbye(response);
  }

  #sayGoodbye(response: ServerResponse): void {
    this.#last = response;
    this.#last.shouldKeepAlive = false;
  }

  *[Symbol.iterator](): Generator<RequestLife> {
    for (let life = this.#newest, older; life; life = older) {
      older = life.older;
      yield life;
    }
  }
}

function takeBackGoodbye(answer: ServerResponse): void {
  const told = answer;
  if (!told.headersSent) told.removeHeader('connection');
  told.shouldKeepAlive = true;
}
