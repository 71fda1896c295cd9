import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { isClosing, isOn, sayGoodbyeLate } from './connections.js';
import { HttpError } from './errors.js';

/** The requests alive on one socket, as a list: the newest, the one older than it, and so on. */
interface Lives {
  newest: RequestLife | undefined;
  /** Called when none is left, where nobody can tell whether the socket will ever close. */
  forget: (() => void) | undefined;
}

const livesOn = new Map<Socket, Lives>();

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
  readonly #lives: Lives;
  #older: RequestLife | undefined;
  #newer: RequestLife | undefined = undefined;
  #ended = false;
  #gone = false;
  #abort: AbortController | undefined = undefined;
  #onGone: ((reason: HttpError) => void) | undefined = undefined;

  constructor({ socket }: IncomingMessage, res: ServerResponse, onEnd: () => void) {
    this.res = res;
    this.#onEnd = onEnd;
    this.#lives = livesOn.get(socket) ?? watch(socket);
    this.#older = this.#lives.newest;
    if (this.#older) this.#older.#newer = this;
    this.#lives.newest = this;
    res.on('finish', () => this.#end(false));
    res.on('close', () => this.#end(true));
    // Behind a middleware that takes its time, the server may have begun to close,
    if (isClosing(socket)) sayGoodbyeLate(res, !this.#older);
    // and all that we listen for may have happened.
    if (res.writableFinished || socket.closed) this.#end(!res.writableFinished);
  }

  /** That of a request, unless it has ended. */
  static of({ socket }: IncomingMessage, res: ServerResponse): RequestLife | undefined {
    let life = livesOn.get(socket)?.newest;
    while (life && life.res !== res) life = life.#older;
    return life;
  }

  /** Those alive on the connections of a server. */
  static *allOn(server: Server): Generator<RequestLife> {
    for (const [socket, { newest }] of livesOn) {
      if (isOn(server, socket)) for (let life = newest; life; life = life.#older) yield life;
    }
  }

  /** Whether no other is alive on its connection. */
  get isAlone(): boolean {
    return !this.#older && !this.#newer;
  }

  /** Aborts when the client is gone before it had its answer. Made when first asked for. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#gone) this.#abort.abort(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
    }
    return this.#abort.signal;
  }

  /** Tells one listener what the signal tells, for much less than a signal costs. */
  onGone(tell: (reason: HttpError) => void): void {
    this.#onGone = tell;
    if (this.#gone) tell(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
  }

  /** The socket has died. */
  lose(): void {
    this.#end(true);
  }

  #end(gone: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gone = gone;
    this.#leave();
    // The signal first: what it stops is stopped with the true reason, before the end of the scope stops it anyway.
    if (gone) this.#tellGone(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
    this.#onEnd();
  }

  #tellGone(reason: HttpError): void {
    this.#abort?.abort(reason);
    this.#onGone?.(reason);
  }

  #leave(): void {
    if (this.#newer) this.#newer.#older = this.#older;
    else this.#lives.newest = this.#older;
    if (this.#older) this.#older.#newer = this.#newer;
    if (!this.#lives.newest) this.#lives.forget?.();
  }
}

function watch(socket: Socket): Lives {
  const lives: Lives = { newest: undefined, forget: undefined };
  if (socket.closed) return lives;
  livesOn.set(socket, lives);
  const lose = (): void => {
    livesOn.delete(socket);
    while (lives.newest) lives.newest.lose();
  };
  socket.on('close', lose);
  // An injected request has a socket of its own, which is none: kept until it closes, it would be kept for ever.
  if (!isSocket(socket)) {
    lives.forget = () => {
      livesOn.delete(socket);
      socket.off('close', lose);
    };
  }
  return lives;
}

function isSocket(socket: unknown): boolean {
  return socket instanceof Socket;
}
