import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { closeBehindResponses, finishBeforeErrors } from './client-errors.js';
import { isClosing, isOn, sayGoodbye, sayGoodbyeLate } from './connections.js';
import { HttpError } from './errors.js';
import type { Load } from './load.js';
import { onNextToLeave, serverOf } from './node-internals.js';
import { Turns } from './turns.js';

/** The requests alive on one socket, as a list: the newest, the one older than it, and so on. */
interface ConnectionRequests {
  readonly turns: Turns;
  /** It closes behind the requests that it has. */
  isFinishing: boolean;
  newest: RequestLife | undefined;
  /** Called when none is left, where nobody can tell whether the socket will ever close. */
  forget: (() => void) | undefined;
}

const requestsOn = new Map<Socket, ConnectionRequests>();
/** Servers that answer complete requests before they close a connection over what follows them. */
const finishing = new WeakSet<Server>();

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
  readonly #requests: ConnectionRequests;
  #older: RequestLife | undefined;
  #newer: RequestLife | undefined = undefined;
  #ended = false;
  #gone = false;
  #abort: AbortController | undefined = undefined;
  #onGone: ((reason: HttpError) => void) | undefined = undefined;
  #hasTurn = false;
  /** What counts it as one that waits for its turn. */
  #waitsFor: Load | undefined = undefined;
  /** What counts it as in progress. */
  #entered: Load | undefined = undefined;

  constructor({ socket }: IncomingMessage, res: ServerResponse, onEnd: () => void) {
    this.res = res;
    this.#onEnd = onEnd;
    this.#requests = requestsOn.get(socket) ?? watch(socket);
    this.#older = this.#requests.newest;
    if (this.#older) this.#older.#newer = this;
    this.#requests.newest = this;
    res.on('finish', () => this.#end(false));
    res.on('close', () => this.#end(true));
    // Behind a middleware that takes its time, the server may have begun to close,
    if (isClosing(socket)) sayGoodbyeLate(res, !this.#older);
    // and all that we listen for may have happened.
    if (res.writableFinished || socket.closed || this.#requests.isFinishing) this.#end(!res.writableFinished);
  }

  /** That of a request, unless it has ended. */
  static of({ socket }: IncomingMessage, res: ServerResponse): RequestLife | undefined {
    let life = requestsOn.get(socket)?.newest;
    while (life && life.res !== res) life = life.#older;
    return life;
  }

  /** Those alive on the connections of a server. */
  static *allOn(server: Server): Generator<RequestLife> {
    for (const [socket, { newest }] of requestsOn) {
      if (isOn(server, socket)) for (let life = newest; life; life = life.#older) yield life;
    }
  }

  /** Whether the connection has complete requests to answer: it is closed behind them, and others end at once. */
  static finishOn(socket: Socket): boolean {
    const requests = requestsOn.get(socket);
    if (!requests) return false;
    if (requests.isFinishing) return true;
    let last = requests.newest;
    while (last && !last.res.req.complete) last = last.#older;
    if (!last) return false;
    requests.isFinishing = true;
    while (requests.newest !== last) requests.newest?.lose();
    closeBehindResponses(socket);
    sayGoodbye(last.res);
    // The head may have left before it could say so.
    last.res.once('finish', () => socket.destroySoon());
    return true;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Calls `begin` once fewer requests of the connection are in progress than the limit, unless it closes before. It is
   * given false where the application has too many requests. A request whose response is the next to leave is not made to
   * wait: behind a middleware that takes its time others may have overtaken it, and they finish only after it.
   */
  inTurn(load: Load, begin: (isTaken: boolean) => void): void {
    const { turns, isFinishing } = this.#requests;
    // It came to us too late.
    if (isFinishing && this.#ended) return;
    if (this.#ended) return begin(true);
    const { req } = this.res;
    let hasBegun = false;
    const enter = (): void => {
      hasBegun = true;
      if (load.enter(req)) this.#entered = load;
      begin(this.#entered !== undefined);
    };
    const whenFree = (): void => {
      this.#endWait();
      this.#hasTurn = true;
      if (this.#ended) this.#passTurn();
      else if (!hasBegun) enter();
    };
    if (turns.take(load.maxPerConnection)) return whenFree();
    if (this.#isSecond() || this.res.socket) return enter();
    if (!load.wait(req)) return begin(false);
    this.#waitsFor = load;
    // In the asynchronous context of this request, and not of the one that makes way for it.
    turns.wait(load, AsyncResource.bind(whenFree));
    const beginAsNext = AsyncResource.bind(() => {
      if (hasBegun || this.#ended) return;
      this.#endWait();
      enter();
    });
    // Most often the response before it hands over its turn as it finishes.
    onNextToLeave(this.res, () => queueMicrotask(beginAsNext));
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
    this.#endWait();
    this.#entered?.leave();
    this.#onEnd();
    this.#passTurn();
  }

  #tellGone(reason: HttpError): void {
    this.#abort?.abort(reason);
    this.#onGone?.(reason);
  }

  /** Where the middleware is mounted twice, the second life of a request would wait for the first one. */
  #isSecond(): boolean {
    let life = this.#older;
    while (life && life.res !== this.res) life = life.#older;
    return life !== undefined;
  }

  #endWait(): void {
    this.#waitsFor?.endWait();
    this.#waitsFor = undefined;
  }

  #passTurn(): void {
    if (!this.#hasTurn) return;
    this.#hasTurn = false;
    this.#requests.turns.done();
  }

  #leave(): void {
    if (this.#newer) this.#newer.#older = this.#older;
    else this.#requests.newest = this.#older;
    if (this.#older) this.#older.#newer = this.#newer;
    if (!this.#requests.newest) this.#requests.forget?.();
  }
}

function watch(socket: Socket): ConnectionRequests {
  const requests: ConnectionRequests = {
    turns: new Turns(socket),
    isFinishing: false,
    newest: undefined,
    forget: undefined,
  };
  if (socket.closed) return requests;
  const server = serverOf(socket);
  if (server && !finishing.has(server)) {
    finishing.add(server);
    finishBeforeErrors(server, (refused) => RequestLife.finishOn(refused));
  }
  requestsOn.set(socket, requests);
  const lose = (): void => {
    requestsOn.delete(socket);
    while (requests.newest) requests.newest.lose();
  };
  socket.on('close', lose);
  // An injected request has a socket of its own, which is none: kept until it closes, it would be kept for ever.
  if (!isSocket(socket)) {
    requests.forget = () => {
      requestsOn.delete(socket);
      socket.off('close', lose);
    };
  }
  return requests;
}

function isSocket(socket: unknown): boolean {
  return socket instanceof Socket;
}
