import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isOn } from './connections.js';
import { HttpError } from './errors.js';

const LIFE = Symbol('ambit.requestLife');

interface LivingRequest extends IncomingMessage {
  [LIFE]?: RequestLife;
}

/** The requests alive on each socket. */
const neighbours = new Map<Socket, Set<RequestLife>>();

/**
 * From the arrival of a request until it is answered or its client is gone, whichever comes first; it ends once.
 *
 * Neither `finish` nor `close` of the response is certain to come: an upload that is cut off ends without `finish`, and
 * of pipelined requests only the first hears that the socket died. So we listen to the socket as well, once for all of
 * its requests.
 */
export class RequestLife {
  readonly res: ServerResponse;
  readonly #onEnd: () => void;
  readonly #neighbours: Set<RequestLife>;
  #ended = false;
  #gone = false;
  #abort: AbortController | undefined = undefined;

  constructor(req: IncomingMessage, res: ServerResponse, onEnd: () => void) {
    const { socket } = req;
    this.res = res;
    this.#onEnd = onEnd;
    this.#neighbours = neighboursOn(socket);
    this.#neighbours.add(this);
    (req as LivingRequest)[LIFE] = this;
    res.on('finish', () => this.#end(false));
    res.on('close', () => this.#end(true));
    // Behind a middleware that takes its time, all that we listen for may have happened.
    if (res.writableFinished || socket.closed) this.#end(!res.writableFinished);
  }

  static of(req: IncomingMessage): RequestLife | undefined {
    return (req as LivingRequest)[LIFE];
  }

  /** Those alive on the connections of a server. */
  static *allOn(server: Server): Generator<RequestLife> {
    for (const [socket, lives] of neighbours) if (isOn(server, socket)) yield* lives;
  }

  /** Aborts when the client is gone before it had its answer. Made when first asked for. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#gone) this.#abort.abort(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
    }
    return this.#abort.signal;
  }

  /** The socket has died. */
  lose(): void {
    this.#end(true);
  }

  #end(gone: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gone = gone;
    this.#neighbours.delete(this);
    // The signal first: what it stops is stopped with the true reason, before the end of the scope stops it anyway.
    if (gone) this.#abort?.abort(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
    this.#onEnd();
  }
}

function neighboursOn(socket: Socket): Set<RequestLife> {
  const known = neighbours.get(socket);
  if (known) return known;
  const lives = new Set<RequestLife>();
  if (socket.closed) return lives;
  neighbours.set(socket, lives);
  socket.on('close', () => {
    neighbours.delete(socket);
    for (const life of lives) life.lose();
  });
  return lives;
}
