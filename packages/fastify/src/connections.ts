import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestLife } from './request-life.js';

/**
 * The requests alive on each socket. When a socket dies, Node says so to the first of its pipelined requests only; the
 * others would live for ever.
 */
export class Connections {
  readonly #bySocket = new Map<Socket, Connection>();
  #areClosing = false;

  add({ socket, httpVersionMajor }: IncomingMessage, life: RequestLife): void {
    // Each HTTP/2 stream hears of its end, and the socket they share is out of bounds.
    if (httpVersionMajor > 1) return;
    (this.#bySocket.get(socket) ?? this.#meet(socket)).add(life);
    // An asynchronous hook before ours may have kept it while the server began to close.
    if (this.#areClosing) sayGoodbye(life);
    // Or for longer than the client stayed.
    if (socket.closed) life.over();
  }

  /** From now on, every answer is the last on its connection. */
  close(): void {
    this.#areClosing = true;
    for (const life of this.inFlight()) sayGoodbye(life);
  }

  *inFlight(): Generator<RequestLife> {
    for (const connection of this.#bySocket.values()) yield* connection;
  }

  #meet(socket: Socket): Connection {
    const connection = new Connection();
    if (socket.closed) return connection;
    this.#bySocket.set(socket, connection);
    socket.once('close', () => {
      this.#bySocket.delete(socket);
      for (const life of connection) life.over();
    });
    return connection;
  }
}

function sayGoodbye({ response }: RequestLife): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

/** The requests of one socket: a list linked through them, because two sets per request cost more than all the rest. */
export class Connection {
  #newest: RequestLife | undefined = undefined;

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
  }

  *[Symbol.iterator](): Generator<RequestLife> {
    for (let life = this.#newest, older; life; life = older) {
      older = life.older;
      yield life;
    }
  }
}
