import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ActiveRequest } from './request/index.js';
import {
  type Channel,
  channelOf,
  closeBehindResponses,
  CONNECTION,
  emitWithin,
  isLast,
  onNextToLeave,
} from './node-internals.js';
import type { RequestHost } from './request-host.js';
import { ServerConnections } from './server-connections.js';

/**
 * A request beyond the limit counts as so many bytes until its connection closes, for the objects of Node and of the framework: an estimate.
 */
const REFUSED_BYTES = 8192;

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
  /** No middleware has kept one of its requests while another one overtook it. */
  #isInOrder = true;
  /** The number of requests that came beyond the limit. */
  #refused = 0;

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
    const channel: Channel = req.httpVersionMajor === 1 ? req.socket : channelOf(req);
    return channel[CONNECTION];
  }

  static open(req: IncomingMessage, connections: ServerConnections | undefined): Connection {
    return new Connection(channelOf(req), connections);
  }

  get isAlive(): boolean {
    const channel = this.#channel;
    return !channel.closed && !(this.#isHttp2 && channel.destroyed);
  }

  /** The bytes that its requests beyond the limit occupy, and those of its responses that its client has not taken. */
  get heldBytes(): number {
    let bytes = this.#refused * REFUSED_BYTES;
    for (let request = this.newest; request; request = request.older) bytes += request.res.writableLength;
    return bytes;
  }

  cut(): void {
    this.#channel.destroy();
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

  /**
   * True if a request is served that has just come. The first one beyond `most` that are not responded to has the connection closed behind
   * those. A request that a middleware kept meanwhile is served when its response is the next to leave, since all others wait for it.
   */
  takes({ res }: ConnectedRequest, most: number): boolean {
    if (this.#length < most && !this.#isFinishing) return true;
    if (res.socket !== null || most === Infinity) return true;
    // A middleware that is mounted twice has two requests for each response.
    for (let request = this.newest; request; request = request.older) if (request.res === res) return true;
    if (!this.#isFinishing && (this.#responses < most || !this.finish())) return true;
    this.#refused += 1;
    this.connections?.limitHeldBytes();
    return false;
  }

  get #responses(): number {
    return new Set(Array.from(this, ({ res }) => res)).size;
  }

  add(request: ConnectedRequest): void {
    if (this.newest && !isLast(request.res)) this.#isInOrder = false;
    if (this.#isFinishing) request.res.once('finish', this.#closeWhenAllLeft);
    request.older = this.newest;
    if (this.newest) this.newest.newer = request;
    // Frameworks listen to the socket for each of its pipelined requests; Node would warn of a leak.
    if (this.#length === 1) this.#channel.setMaxListeners(0);
    this.newest = request;
    this.#length += 1;
  }

  remove(request: ConnectedRequest): void {
    const { older, newer } = request;
    // One beyond the limit has never joined.
    if (!newer && this.newest !== request) return;
    if (older) older.newer = newer;
    if (newer) newer.older = older;
    else this.newest = older;
    request.older = request.newer = undefined;
    this.#length -= 1;
    if (!this.newest) this.#isInOrder = true;
    // The channel of an injected request never closes, so its connection would be kept forever.
    if (!this.newest && !this.#isHttp2 && !this.#isFinishing && !(this.#channel instanceof Socket)) this.#forget();
  }

  /** True if it has complete requests to respond to: it is closed behind them, and others are lost. */
  finish(): boolean {
    if (this.#isFinishing) return true;
    const incomplete = Array.from(this).filter(({ req }) => !req.complete);
    if (incomplete.length === this.#length) return false;
    this.#isFinishing = true;
    for (const request of incomplete) request.lose();
    closeBehindResponses(this.#channel as Socket);
    for (const { res } of this) res.once('finish', this.#closeWhenAllLeft);
    // Node closes the connection behind the response that says it.
    if (this.#isInOrder && this.newest) this.connections?.sayClose(this.newest.res);
    return true;
  }

  readonly #closeWhenAllLeft = (): void => {
    for (const request of this) if (!request.isWhole) return;
    (this.#channel as Socket).destroySoon();
  };

  readonly #lose = (): void => {
    this.#forget();
    while (this.newest) this.newest.lose();
  };

  #forget(): void {
    const channel = this.#channel;
    channel.off('close', this.#lose);
    delete channel[CONNECTION];
    this.connections?.delete(this);
  }
}

/** So few requests are no burden, whatever their responses are. */
const FEW_REQUESTS = 20;

type Done = (error?: unknown) => void;

/** Waiting for a promise that is resolved costs less than `queueMicrotask()`. */
const TURN = Promise.resolve();

/**
 * A request on its connection, from its arrival until its response is sent or its client has disconnected; it completes once.
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
export class ConnectedRequest extends ActiveRequest {
  /** The request. */
  readonly req: IncomingMessage;
  /** Its response. */
  readonly res: ServerResponse;
  /** The request before it on the connection, while both are in progress. */
  older: ConnectedRequest | undefined = undefined;
  /** The request behind it on the connection, while both are in progress. */
  newer: ConnectedRequest | undefined = undefined;
  /** Its response is out, or its client has disconnected; {@link ActiveRequest.isFinished} follows in the same tick. */
  isOut = false;
  readonly #host: RequestHost;
  readonly #connection: Connection;
  /** True if its connection serves it; see {@link Connection.takes}. */
  readonly #isTaken: boolean;
  #onCompleted: (() => void)[] | undefined = undefined;

  /**
   * Begins when the request has arrived, and watches its response and its connection from then on.
   *
   * @param req - the request
   * @param res - its response
   * @param host - what all requests of the middleware, plugin or handler have in common
   * @param request - the request as the framework knows it, for the functions among the options. Default: `req`
   */
  constructor(req: IncomingMessage, res: ServerResponse, host: RequestHost, request: unknown = req) {
    super(host.scopes, request);
    this.req = req;
    this.res = res;
    this.#host = host;
    const { connections } = host.framework;
    const connection =
      Connection.of(req) ?? Connection.open(req, connections ?? ServerConnections.ofSocket(req.socket));
    this.#connection = connection;
    this.#isTaken = connection.takes(this, host.maxPerConnection);
    if (this.#isTaken) this.#join();
  }

  /**
   * Finds that of a response.
   *
   * @param req - the request
   * @param res - its response
   * @returns undefined if the request has completed, or no host has made one
   */
  static ofResponse(req: IncomingMessage, res: ServerResponse): ConnectedRequest | undefined {
    for (const request of Connection.of(req) ?? []) if (request.res === res) return request;
    return undefined;
  }

  /**
   * Calls `act` once, when the request has completed. Register it before: later ones are never called.
   *
   * @param act - is called in the order of these calls
   */
  onCompleted(act: () => void): void {
    (this.#onCompleted ??= []).push(act);
  }

  /** Resolves when the request has completed. Call it before that. */
  whenCompleted(): Promise<void> {
    return new Promise((resolve) => this.onCompleted(resolve));
  }

  /**
   * Has the request scope opened, then `done` called. `done` is called with the error where there is no scope, and never where the client
   * leaves before, or has pipelined more requests than the limit of its connection.
   *
   * @param done - goes on with the request. Its error may be `AMBIT_HTTP_OVERLOADED`: too many requests are in progress
   */
  open(done: Done): void {
    if (this.isOut || this.#isTaken) this.#enter(done);
    // A middleware may have taken its time, so it may have come before others.
    else if (!isLast(this.res)) this.#openWhenNext(done);
  }

  /** The connection is lost, or will take no response to this request. */
  lose(): void {
    this.complete(!this.isWhole);
  }

  /** Completes a request whose response is out, or never will be, where no event said so. */
  completeIfSent(): void {
    const { isWhole, res } = this;
    if (isWhole || res.destroyed || this.#host.framework.isAbandoned?.(res)) this.complete(!isWhole);
  }

  /**
   * Completes the request: aborts its signal where the client has disconnected, and disposes its scope. A second call changes nothing.
   *
   * @param isDisconnected - whether the client left before it had its response
   */
  complete(isDisconnected: boolean): void {
    if (this.isOut) return;
    this.isOut = true;
    this.#connection.remove(this);
    if (isDisconnected) super.disconnect();
    else this.respondedWith(this.res.statusCode);
    const reason = this.disconnectReason ?? this.failure;
    // Listeners of the response that are called after ours still have the scope.
    void TURN.then(() => this.finish(reason));
    for (const act of this.#onCompleted ?? []) act();
  }

  /** The client has left before it had the whole response. */
  override leave(): void {
    this.complete(true);
  }

  /** As `leave()`: a request on a connection completes with it. */
  override disconnect(): void {
    this.complete(true);
  }

  /** The client has all of the response. (To Node, one of HTTP/2 to HEAD is written from the beginning.) */
  get isWhole(): boolean {
    return this.res.writableEnded && this.res.writableFinished;
  }

  #join(): void {
    const { req, res } = this;
    const connection = this.#connection;
    connection.add(this);
    if (!this.#host.framework.callsComplete) {
      // The compatibility layer of HTTP/2 emits `finish` in every case, also when the stream was cut off.
      res.on('finish', () => this.complete(req.httpVersionMajor > 1 && !this.isWhole));
      res.on('close', () => this.complete(true));
    }
    // While a middleware takes its time, the server may begin to close,
    const { connections } = connection;
    if (connections?.isClosing) {
      if (!connection.isFinishing) connections.sayCloseLate(this);
      this.shutDown();
    }
    // and all that we listen for may have happened.
    if (this.isWhole || !connection.isAlive) this.complete(!this.isWhole);
  }

  #openWhenNext(done: Done): void {
    const open = AsyncResource.bind(() => {
      // After the last response of its connection it is the next, too.
      if (!this.res.socket?.writable) return;
      this.#join();
      this.#enter(done);
    });
    onNextToLeave(this.res, () => queueMicrotask(open));
  }

  /** The scope of a request that has already completed is disposed immediately, and counts for nothing. */
  #enter(done: Done): void {
    const { isOut, scopes } = this;
    if (!isOut) {
      const isFull = scopes.openRequests > FEW_REQUESTS && this.#connection.connections?.limitHeldBytes();
      try {
        scopes.admit(this, isFull);
      } catch (error) {
        this.res.setHeader('retry-after', '1');
        return done(error);
      }
    }
    if (scopes.isCurrent) this.#emitInScope();
    let opening: Promise<void> | undefined;
    try {
      opening = scopes.openScope(this, undefined as never);
    } catch (error) {
      return done(error);
    } finally {
      if (isOut) this.finish();
    }
    if (!opening) return scopes.isCurrent ? this.run(done) : done();
    const goOn = (error?: unknown): void => {
      // The client has disconnected, and what failed then failed because its scope was disposed.
      if (!this.isOut) this.run(() => done(error));
    };
    opening.then(goOn, goOn);
  }

  #emitInScope(): void {
    const run = (emit: () => boolean): boolean => this.run(emit);
    emitWithin(this.req, run);
    emitWithin(this.res, run);
  }
}
