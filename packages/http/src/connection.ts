import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { IContainer } from '@ambit/container';
import { ActiveRequest, HttpError } from './host/index.js';
import {
  type Channel,
  channelOf,
  closeBehindResponses,
  CONNECTION,
  emitWithin,
  onNextToLeave,
  speaksHttp,
  UnparsedInput,
} from './node-internals.js';
import type { RequestHost } from './request-host.js';
import { ServerConnections } from './server-connections.js';

/**
 * The active requests of one connection, as a list linked through them. When a socket dies, Node notifies only the first
 * of its pipelined requests, so this one listens to the socket for all of them.
 */
export class Connection {
  /** Undefined where the request came through no server. */
  readonly connections: ServerConnections | undefined;
  newest: ConnectedRequest | undefined = undefined;
  readonly #channel: Channel;
  readonly #isHttp2: boolean;
  #isFinishing = false;
  #length = 0;
  #inProgress = 0;
  /** Pipelined requests that have not begun; made for the first of them. */
  #waiting: (() => void)[] | undefined = undefined;
  /** The host of the waiting requests. */
  #host: RequestHost | undefined = undefined;
  #isTurnScheduled = false;
  /** Made when more requests than the limit have come. */
  #input: UnparsedInput | undefined = undefined;

  private constructor(channel: Channel, connections: ServerConnections | undefined) {
    this.#channel = channel;
    this.#isHttp2 = 'rstCode' in channel;
    this.connections = connections;
    if (!this.isAlive) return;
    channel[CONNECTION] = this;
    channel.on('close', this.#lose);
    connections?.add(this, channel);
  }

  /** The connection of a request; undefined before its first one. */
  static of(req: IncomingMessage): Connection | undefined {
    return channelOf(req)[CONNECTION];
  }

  static open(req: IncomingMessage, connections: ServerConnections | undefined): Connection {
    return new Connection(channelOf(req), connections);
  }

  get isAlive(): boolean {
    const channel = this.#channel;
    return !channel.closed && !(this.#isHttp2 && channel.destroyed);
  }

  /** What its client has sent ahead, and what it has not taken of its responses. */
  get heldBytes(): number {
    let bytes = this.#input?.keptBytes ?? 0;
    for (let request = this.newest; request; request = request.older) bytes += request.res.writableLength;
    return bytes;
  }

  cut(): void {
    this.#channel.destroy();
  }

  /** It speaks another protocol from now on. */
  leaveHttp(): void {
    this.#input?.leave();
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
    this.#length += 1;
  }

  remove(request: ConnectedRequest): void {
    const { older, newer } = request;
    if (older) older.newer = newer;
    if (newer) newer.older = older;
    else this.newest = older;
    request.older = request.newer = undefined;
    this.#length -= 1;
    this.#parseOn();
    // The channel of an injected request never closes, so its connection would be kept forever.
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
  waitForTurn(host: RequestHost, begin: () => void): void {
    (this.#waiting ??= []).push(begin);
    this.#host ??= host;
    this.#scheduleTurn();
    this.limitInput(host);
  }

  /** Stops the parser behind this request where too many wait, or are refused and cannot leave yet. */
  limitInput(host: RequestHost): void {
    const socket = this.#channel as Socket;
    if (this.#input || this.#behind <= host.maxAhead || !this.isAlive || !speaksHttp(socket)) return;
    this.#host ??= host;
    this.#input = new UnparsedInput(socket, host, () => this.#isHeld(host.maxAhead));
  }

  /** The one that waits with `begin` gets the next turn, as no other response can leave before its own. */
  putFirst(begin: () => void): void {
    const waiting = this.#waiting;
    const place = waiting?.indexOf(begin) ?? -1;
    if (place > 0) waiting?.unshift(...waiting.splice(place, 1));
  }

  passTurn(): void {
    this.#inProgress -= 1;
    if (this.#inProgress > 0) this.#host?.releaseTurn();
    this.#scheduleTurn();
    this.#parseOn();
  }

  /** Whether all turns are taken, so that a request that waits begins only when another one has finished. */
  get isFull(): boolean {
    const host = this.#host;
    if (!host || this.#inProgress === 0) return false;
    return this.#inProgress >= host.maxPerConnection || host.isFull;
  }

  /** One at a time for each connection: the requests of other connections, and whatever else happens, come in between. */
  readonly #scheduleTurn = (): void => {
    const host = this.#host;
    if (!host || this.#isTurnScheduled || !this.#waiting?.length) return;
    if (!this.isFull) {
      this.#isTurnScheduled = true;
      host.soon(this.#giveTurn);
    } else if (this.#inProgress < host.maxPerConnection) host.onTurn(this.#scheduleTurn);
  };

  readonly #giveTurn = (): void => {
    this.#isTurnScheduled = false;
    const begin = this.isFull ? undefined : this.#waiting?.shift();
    // The next turn that somebody passes on belongs to one that needs it.
    if (!this.#waiting?.length) this.#host?.forget(this.#scheduleTurn);
    if (!begin) return this.#scheduleTurn();
    if (this.#inProgress > 0) this.#host?.takeTurn();
    this.#inProgress += 1;
    begin();
    this.#scheduleTurn();
    this.#parseOn();
  };

  /** How many are not in progress: they wait, or are refused and cannot leave yet. */
  get #behind(): number {
    return this.#length - this.#inProgress;
  }

  /** Not behind one that has begun: its body may be among what is not parsed. */
  #isHeld(most: number): boolean {
    return this.#behind > most && !this.newest?.hasBegun;
  }

  /** Some at a time, as it takes a while to stop and to go on. */
  #parseOn(): void {
    if (this.#input && !this.#isHeld((this.#host?.maxAhead ?? 0) / 2)) this.#input.parseOn();
  }

  /** Whether it has complete requests to respond to: it is closed behind them, and others are lost. */
  finish(): boolean {
    if (this.#isFinishing) return true;
    let last = this.newest;
    while (last && !last.req.complete) last = last.older;
    if (!last) return false;
    this.#isFinishing = true;
    const socket = this.#channel as Socket;
    while (this.newest && this.newest !== last) this.newest.lose();
    closeBehindResponses(socket);
    this.connections?.sayClose(last.res);
    // The head may have left before it could say so.
    last.res.once('finish', () => socket.destroySoon());
    return true;
  }

  readonly #lose = (): void => {
    this.#forget();
    this.#waiting = undefined;
    this.#host?.forget(this.#scheduleTurn);
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

/** Their responses are no burden, whatever they are. */
const FEW_REQUESTS = 20;

interface TurnListener {
  /** Called when the request counts as one that is in progress on its connection; `passTurn()` must follow. */
  readonly take: () => void;
  /** Called once, in the asynchronous context of this request, and not of the one that makes way for it. */
  readonly begin: () => void;
}

/**
 * A request that waits until fewer requests of its connection are in progress. One whose response is the next to leave
 * begins at once: behind a middleware that takes its time others may have overtaken it, and they finish only after it.
 */
class PendingTurn {
  readonly #host: RequestHost;
  readonly #begin: () => void;
  #isOver = false;

  constructor(request: ConnectedRequest, connection: Connection, host: RequestHost, { take, begin }: TurnListener) {
    this.#host = host;
    this.#begin = AsyncResource.bind(begin);
    const onTurn = (): void => {
      if (request.isOut) return connection.passTurn();
      take();
      this.#beginOnce();
    };
    connection.waitForTurn(host, onTurn);
    const beginNext = (): void => {
      if (this.#isOver) return;
      if (connection.isFull) host.soon(() => this.#beginOnce());
      else connection.putFirst(onTurn);
    };
    // Most often the response before it hands over its turn as it finishes.
    onNextToLeave(request.res, () => queueMicrotask(beginNext));
  }

  cancel(): void {
    if (!this.#isOver) this.#host.endWait();
    this.#isOver = true;
  }

  #beginOnce(): void {
    if (this.#isOver) return;
    this.cancel();
    this.#begin();
  }
}

/** Whether others finish only after this request, or, where a middleware is mounted twice, only with it. */
function mayNotWait({ req, res, older }: ConnectedRequest): boolean {
  let before = older;
  while (before && before.res !== res) before = before.older;
  return before !== undefined || res.socket !== null || req.httpVersionMajor > 1;
}

type Done = (error?: unknown) => void;

/** For what is done when the listeners of an event have all been called, at less than `queueMicrotask()` costs. */
const NOW = Promise.resolve();

/**
 * A request on its connection, from its arrival until its response is sent or its client has disconnected; it finishes once.
 *
 * Neither `finish` nor `close` of the response is certain to come: an upload that is cut off ends without `finish`, and
 * of pipelined requests only the first is notified that the socket died. So the connection listens to the socket as well.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { Container } from '@ambit/container';
 * import { ConnectedRequest, RequestHost } from '@ambit/http/node';
 *
 * const host = RequestHost.over(new Container({ tags: ['application'] }), {}, 'myServer()');
 * createServer((req, res) => {
 *   const request = new ConnectedRequest(req, res, host);
 *   request.open((error) => {
 *     res.statusCode = error ? 500 : 200;
 *     res.end(request.scope?.resolve<string>('IGreeting'));
 *   });
 * }).listen(3000);
 * ```
 */
export class ConnectedRequest {
  /** The request. */
  readonly req: IncomingMessage;
  /** Its response. */
  readonly res: ServerResponse;
  /** The request before it on the connection, while both are in progress. */
  older: ConnectedRequest | undefined = undefined;
  /** The request behind it on the connection, while both are in progress. */
  newer: ConnectedRequest | undefined = undefined;
  /** Its scope and its signal. */
  readonly active: ActiveRequest;
  /** Its response is out, or its client has disconnected; {@link ActiveRequest.isFinished} follows in the same tick. */
  isOut = false;
  /** @internal It waits no longer. */
  hasBegun = false;
  readonly #host: RequestHost;
  readonly #connection: Connection;
  /** Its place among the requests that wait. */
  #turn: PendingTurn | undefined = undefined;
  #hasTurn = false;
  #onFinished: (() => void)[] | undefined = undefined;

  /**
   * Begins when the request has arrived, and watches its response and its connection from then on.
   *
   * @param req - the request
   * @param res - its response
   * @param host - what all requests of the middleware, plugin or handler have in common
   * @param request - the request as the framework knows it, for the functions among the options. Default: `req`
   */
  constructor(req: IncomingMessage, res: ServerResponse, host: RequestHost, request: unknown = req) {
    this.req = req;
    this.res = res;
    this.#host = host;
    this.active = new ActiveRequest(host.scopes, request);
    const { callsFinish, connections } = host.framework;
    const connection =
      Connection.of(req) ?? Connection.open(req, connections ?? ServerConnections.ofSocket(req.socket));
    this.#connection = connection;
    connection.add(this);
    if (!callsFinish) {
      // The compatibility layer of HTTP/2 emits `finish` in every case, also when the stream was cut off.
      res.on('finish', () => this.finish(req.httpVersionMajor > 1 && !this.isWhole));
      res.on('close', () => this.finish(true));
    }
    // Behind a middleware that takes its time, the server may have begun to close,
    if (connection.connections?.isClosing) {
      connection.connections.sayCloseLate(this);
      this.active.shutDown();
    }
    // and all that we listen for may have happened.
    if (this.isWhole || !connection.isAlive || connection.isFinishing) this.finish(!this.isWhole);
  }

  /**
   * Finds that of a request.
   *
   * @param req - the request
   * @param res - its response
   * @returns undefined if the request has finished, or no host has made one
   */
  static of(req: IncomingMessage, res: ServerResponse): ConnectedRequest | undefined {
    for (const request of Connection.of(req) ?? []) if (request.res === res) return request;
    return undefined;
  }

  /** The request scope; undefined until it is opened. */
  get scope(): IContainer | undefined {
    return this.active.scope;
  }

  /**
   * Calls `act` once, when the request has finished. Call it before that: it does not look back.
   *
   * @param act - is called in the order of these calls
   */
  onFinished(act: () => void): void {
    (this.#onFinished ??= []).push(act);
  }

  /** Resolves when the request has finished. Call it before that: it does not look back. */
  whenFinished(): Promise<void> {
    return new Promise((resolve) => this.onFinished(resolve));
  }

  /**
   * Has the request scope opened, then `done` called, once fewer requests of the connection are in progress than the limit. `done`
   * is called with the error where there is no scope, and never where the request finishes before.
   *
   * @param done - goes on with the request. Its error may be `AMBIT_HTTP_OVERLOADED`: too many requests are in progress
   */
  open(done: Done): void {
    const connection = this.#connection;
    if (this.isOut) {
      // Behind what Node refused, no more requests are taken.
      if (!connection.isFinishing) this.#openScope(done);
    } else if ((this.#hasTurn = connection.takeTurn())) this.#enter(done);
    else this.#wait(done);
  }

  /** The connection is lost, or will take no response to this request: finishes it. */
  lose(): void {
    this.finish(!this.isWhole);
  }

  /** Finishes a request whose response is out, or never will be, where no event said so. */
  finishIfSent(): void {
    const { isWhole, res } = this;
    if (isWhole || res.destroyed || this.#host.framework.isAbandoned?.(res)) this.finish(!isWhole);
  }

  /**
   * Finishes the request: aborts its signal where the client has disconnected, and disposes its scope. A second call changes nothing.
   *
   * @param isDisconnected - whether the client left before it had its response
   */
  finish(isDisconnected: boolean): void {
    if (this.isOut) return;
    this.isOut = true;
    this.#connection.remove(this);
    if (isDisconnected) this.active.disconnect();
    this.#turn?.cancel();
    // The listeners of the response behind ours still have the scope.
    const reason = this.#reason;
    void NOW.then(() => this.active.finish(reason));
    for (const act of this.#onFinished ?? []) act();
    this.#passTurn();
  }

  /** The client has all of the response. (To Node, one of HTTP/2 to HEAD is written from the beginning.) */
  get isWhole(): boolean {
    return this.res.writableEnded && this.res.writableFinished;
  }

  /** Why a request that has finished failed: its client disconnected, its handler threw, or its response says so. */
  get #reason(): unknown {
    const { active, res } = this;
    if (!active.disconnectReason) active.failedWith(res.statusCode);
    return active.disconnectReason ?? active.failure;
  }

  #wait(done: Done): void {
    const host = this.#host;
    const enter = (): void => this.#enter(done);
    if (mayNotWait(this)) return enter();
    if (!host.wait(this.active)) {
      this.#connection.limitInput(host);
      return this.#refuse(new HttpError('AMBIT_HTTP_OVERLOADED'), done);
    }
    this.#turn = new PendingTurn(this, this.#connection, host, {
      take: () => void (this.#hasTurn = true),
      begin: enter,
    });
  }

  #enter(done: Done): void {
    this.hasBegun = true;
    if (this.#host.scopes.openRequests > FEW_REQUESTS) this.#connection.connections?.limitHeldBytes();
    try {
      this.#host.scopes.admit(this.active);
    } catch (error) {
      return this.#refuse(error, done);
    }
    this.#openScope(done);
  }

  /** If the request has already finished, its scope is disposed immediately. */
  #openScope(done: Done): void {
    const { active, isOut } = this;
    const { scopes } = this.#host;
    if (scopes.isCurrent) this.#emitInScope();
    let opening: Promise<void> | undefined;
    try {
      opening = scopes.openScope(active, undefined as never);
    } catch (error) {
      return done(error);
    } finally {
      if (isOut) active.finish(this.#reason);
    }
    if (!opening) return active.run(done);
    const goOn = (error?: unknown): void => {
      // The client has disconnected, and what failed then failed because its scope was disposed.
      if (!this.isOut) active.run(() => done(error));
    };
    opening.then(goOn, goOn);
  }

  #emitInScope(): void {
    const run = (emit: () => boolean): boolean => this.active.run(emit);
    emitWithin(this.req, run);
    emitWithin(this.res, run);
  }

  #refuse(overloaded: unknown, done: Done): void {
    this.res.setHeader('retry-after', '1');
    done(overloaded);
  }

  #passTurn(): void {
    if (this.#hasTurn) this.#connection.passTurn();
    this.#hasTurn = false;
  }
}
