import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { Socket } from 'node:net';
import type { RequestLife } from './request-life.js';

/**
 * The requests alive on each socket. When a socket dies, Node says so to the first of its pipelined requests only; the
 * others would live for ever.
 */
export class Connections {
  readonly #bySocket = new Map<Socket, Connection>();
  #areClosing = false;

  add(request: IncomingMessage, life: RequestLife): void {
    const { socket, httpVersionMajor } = request;
    // Whoever speaks HTTP/1 may write another version, too.
    if (httpVersionMajor > 1 && 'stream' in request) {
      // Each stream hears of its end, which its response does not always do, and the socket they share is out of bounds.
      const { stream } = request as unknown as Http2ServerRequest;
      // An asynchronous hook before ours may have kept it for longer than the client stayed; the same below.
      if (stream.closed || stream.destroyed) life.over();
      else stream.once('close', () => life.over());
      return;
    }
    const connection = this.#bySocket.get(socket) ?? this.#meet(socket);
    connection.add(life);
    if (this.#areClosing) connection.sayGoodbyeBehind(life);
    if (socket.closed) life.over();
  }

  /** From now on, the last answer on each connection says that it is. */
  close(): void {
    this.#areClosing = true;
    for (const connection of this.#bySocket.values()) connection.sayGoodbye();
  }

  /** Ends those that were answered, and did not hear of it. */
  endAnswered(): void {
    for (const life of this.inFlight()) if (life.response.writableFinished) life.over();
  }

  *inFlight(): Generator<RequestLife> {
    for (const connection of this.#bySocket.values()) yield* connection;
  }

  #meet(socket: Socket): Connection {
    if (socket.closed) return new Connection();
    const lose = (): void => {
      this.#bySocket.delete(socket);
      for (const life of connection) life.over();
    };
    const forget = (): void => {
      this.#bySocket.delete(socket);
      socket.off('close', lose);
    };
    // That of an injected request is none: kept until it closes, it would be kept for ever.
    const connection = new Connection(isSocket(socket) ? undefined : forget);
    this.#bySocket.set(socket, connection);
    socket.on('close', lose);
    return connection;
  }
}

function isSocket(socket: unknown): boolean {
  return socket instanceof Socket;
}

/** The requests of one socket: a list linked through them, because two sets per request cost more than all the rest. */
export class Connection {
  #newest: RequestLife | undefined = undefined;
  /** Whose answer was told to be the last here. */
  #last: ServerResponse | undefined = undefined;
  readonly #onEmpty: (() => void) | undefined;

  constructor(onEmpty?: () => void) {
    this.#onEmpty = onEmpty;
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
    // In an asynchronous hook before ours one may have overtaken another: which is the last, nobody knows.
    if (this.#newest && !this.#newest.older) this.#sayGoodbye(this.#newest.response);
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
