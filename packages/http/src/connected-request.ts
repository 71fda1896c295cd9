import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type IContainer, runInScope } from '@ambit/container';
import {
  ActiveRequest,
  checkParent,
  checkRequestOptions,
  checkReturnedParent,
  HttpError,
  type ParentScope,
  type RequestOptions,
  startServices,
} from '@ambit/host';
import { Connection, Connections, type Load } from './connection.js';
import { emitWithin, onNextToLeave } from './node-internals.js';

const CURRENT = Symbol('ambit.current');

interface RequestWithCurrent {
  [CURRENT]?: CurrentScope;
}

/**
 * The scope that is `currentScope()` for what one request causes: its own, and that of its transaction while it is open.
 *
 * @example
 * ```ts
 * import type { IncomingMessage } from 'node:http';
 * import { CurrentScope } from '@ambit/http/host';
 *
 * const callHandler = (req: IncomingMessage, handler: () => unknown) => CurrentScope.run(req, handler);
 * const callErrorHandler = (req: IncomingMessage, handler: () => unknown) => CurrentScope.runOutside(req, handler);
 * ```
 */
export class CurrentScope {
  readonly #requestScope: IContainer;
  #scope: IContainer;

  /**
   * Makes the request scope the current one, also for the events of the request and the response.
   *
   * @param req - the request
   * @param res - its response
   * @param requestScope - the scope of the request
   */
  constructor(req: IncomingMessage, res: ServerResponse, requestScope: IContainer) {
    this.#requestScope = this.#scope = requestScope;
    (req as RequestWithCurrent)[CURRENT] = this;
    const run = (emit: () => boolean): boolean => this.run(emit);
    emitWithin(req, run);
    emitWithin(res, run);
  }

  /**
   * Finds that of a request.
   *
   * @param req - the request
   * @returns undefined where the application did not ask for a current scope
   */
  static of(req: object): CurrentScope | undefined {
    return (req as RequestWithCurrent)[CURRENT];
  }

  /**
   * Calls the function with the current scope of the request; without one, as it is.
   *
   * @param req - the request
   * @param work - the function
   * @returns what the function returns
   */
  static run<T>(req: object, work: () => T): T {
    const current = CurrentScope.of(req);
    return current ? current.run(work) : work();
  }

  /**
   * Calls the function with the request's own scope: error handlers must not get the scope of a transaction that failed.
   *
   * @param req - the request
   * @param work - the function
   * @returns what the function returns
   */
  static runOutside<T>(req: object, work: () => T): T {
    const current = CurrentScope.of(req);
    return current ? runInScope(current.#requestScope, work) : work();
  }

  /**
   * Makes the scope of a transaction the current one from now on.
   *
   * @param transactionScope - the scope of the transaction
   */
  enter(transactionScope: IContainer): void {
    this.#scope = transactionScope;
  }

  /** Makes the request's own scope the current one again. */
  leave(): void {
    this.#scope = this.#requestScope;
  }

  /**
   * Calls the function with the scope that is current now.
   *
   * @param work - the function
   * @returns what the function returns
   */
  run<T>(work: () => T): T {
    return runInScope(this.#scope, work);
  }
}

/** Opens the scope of a request, then calls `done`, with the error where that failed. Where the request finishes meanwhile, never. */
export type ScopeOpener = (request: ConnectedRequest, done: (error?: unknown) => void) => void;

/** What the framework adds. */
export interface OpenerOptions<Request> extends RequestOptions<Request> {
  /** What the errors of invalid options name. */
  readonly caller: string;
  /** The request as the framework knows it. */
  readonly requestOf: (request: ConnectedRequest) => Request;
}

/**
 * How a host opens its request scopes. It is decided here, once, so that a request pays for no option that is not used.
 *
 * @param parent - the application container, or a function of the request that returns the scope above the request's
 * @param options - those of the application, and what the framework adds
 * @returns what `ConnectedRequest.open()` calls for each request
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: an option is invalid
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { scopeOpener } from '@ambit/http/host';
 *
 * const app = new Container({ tags: ['application'] });
 * const opener = scopeOpener(app, { tags: ['request'], caller: 'middleware()', requestOf: ({ req }) => req });
 * ```
 */
export function scopeOpener<Request>(parent: ParentScope<Request>, options: OpenerOptions<Request>): ScopeOpener {
  checkParent(parent, options.caller);
  checkRequestOptions(options);
  const { tags = ['request'], register, start, current } = options;
  const scopeOptions = { tags: [...tags] };
  if (typeof parent === 'function' || register || start) return prepared(parent, options, scopeOptions);
  return current ? currentAtOnce(parent, scopeOptions) : atOnce(parent, scopeOptions);
}

function atOnce(parent: IContainer, scopeOptions: { tags: string[] }): ScopeOpener {
  return (request, done) => {
    let failure: unknown;
    try {
      request.openScope(parent, scopeOptions);
    } catch (error) {
      failure = error;
    }
    done(failure);
  };
}

function currentAtOnce(parent: IContainer, scopeOptions: { tags: string[] }): ScopeOpener {
  return (request, done) => {
    let current: CurrentScope;
    try {
      current = new CurrentScope(request.req, request.res, request.openScope(parent, scopeOptions));
    } catch (error) {
      return done(error);
    }
    return current.run(() => done());
  };
}

function prepared<Request>(
  parent: ParentScope<Request>,
  options: OpenerOptions<Request>,
  scopeOptions: { tags: string[] },
): ScopeOpener {
  const { register, start, caller, requestOf } = options;
  const prepare = async (request: ConnectedRequest): Promise<void> => {
    const known = requestOf(request);
    const above = typeof parent === 'function' ? await parent(known) : parent;
    if (request.isFinished) return;
    checkReturnedParent(above, caller);
    const scope = request.openScope(above, scopeOptions);
    if (options.current) void new CurrentScope(request.req, request.res, scope);
    if (register) await CurrentScope.run(request.req, () => register(scope, known));
    if (start && !request.isFinished) await CurrentScope.run(request.req, () => startServices(scope, caller));
  };
  return (request, done) => {
    const goOn = (error?: unknown): void => {
      // The client has disconnected, and what failed then failed because its scope was disposed.
      if (!request.isFinished) CurrentScope.run(request.req, () => done(error));
    };
    prepare(request).then(() => goOn(), goOn);
  };
}

/** What all requests of one middleware, plugin or handler have in common. */
export interface RequestHost {
  /** How many requests may be in progress. */
  readonly load: Load;
  /** Called when a request scope failed to dispose. */
  readonly onDisposeError: (error: unknown, request: ConnectedRequest) => void;
  /** The host calls `finish()` when a response was sent. Default: the events of the response do. */
  readonly callsFinish?: true;
  /** For a framework whose server is known before its first request. Default: found by the socket. */
  readonly connections?: Connections;
}

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
export class PendingTurn {
  readonly #load: Load;
  readonly #begin: () => void;
  #isOver = false;

  constructor(request: ConnectedRequest, connection: Connection, load: Load, { take, begin }: TurnListener) {
    this.#load = load;
    this.#begin = AsyncResource.bind(begin);
    const onTurn = (): void => {
      if (request.isFinished) return connection.passTurn();
      take();
      this.#beginOnce();
    };
    connection.waitForTurn(load, onTurn);
    const beginNext = (): void => {
      if (this.#isOver) return;
      if (connection.isFull) load.soon(() => this.#beginOnce());
      else connection.putFirst(onTurn);
    };
    // Most often the response before it hands over its turn as it finishes.
    onNextToLeave(request.res, () => queueMicrotask(beginNext));
  }

  cancel(): void {
    if (!this.#isOver) this.#load.endWait();
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
 * import { ConnectedRequest, Connections, Load, scopeOpener } from '@ambit/http/host';
 *
 * const app = new Container({ tags: ['application'] });
 * Connections.watch();
 * const host = { load: new Load({}), onDisposeError: console.error };
 * const opener = scopeOpener(app, { caller: 'myServer()', requestOf: ({ req }) => req });
 * createServer((req, res) => {
 *   const request = new ConnectedRequest(req, res, host);
 *   request.open(opener, (error) => {
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
  active: ActiveRequest;
  /** The response is out, or the client has disconnected. */
  isFinished = false;
  readonly #host: RequestHost;
  readonly #connection: Connection;
  /** What it waits for. */
  #turn: PendingTurn | undefined = undefined;
  #hasTurn = false;
  /** It counts as in progress in the application. */
  #hasEntered = false;
  #onFinished: (() => void)[] | undefined = undefined;

  /**
   * Begins when the request has arrived, and watches its response and its connection from then on.
   *
   * @param req - the request
   * @param res - its response
   * @param host - what all requests of the middleware, plugin or handler have in common
   */
  constructor(req: IncomingMessage, res: ServerResponse, host: RequestHost) {
    this.req = req;
    this.res = res;
    this.#host = host;
    this.active = new ActiveRequest(host, this);
    const connection = Connection.of(req) ?? Connection.open(req, host.connections ?? Connections.ofSocket(req.socket));
    this.#connection = connection;
    connection.add(this);
    if (!host.callsFinish) {
      // The compatibility layer of HTTP/2 emits `finish` in every case, also when the stream was cut off.
      res.on('finish', () => this.finish(req.httpVersionMajor > 1 && !this.isWhole));
      res.on('close', () => this.finish(true));
    }
    // Behind a middleware that takes its time, the server may have begun to close,
    if (connection.connections?.isClosing) connection.sayCloseLate(this);
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
    for (const request of Connection.of(req) ?? [])
      if (request.res === res && request instanceof ConnectedRequest) return request;
    return undefined;
  }

  /** The request scope; undefined until it is opened. */
  get scope(): IContainer | undefined {
    return this.active.openedScope;
  }

  /** The client left before it had its response. */
  get isDisconnected(): boolean {
    return this.active.disconnectReason !== undefined;
  }

  /** Resolves when the request has finished. Call it before that: it does not look back. */
  whenFinished(): Promise<void> {
    return new Promise((resolve) => void (this.#onFinished ??= []).push(resolve));
  }

  /**
   * Has the request scope opened, then `done` called, once fewer requests of the connection are in progress than the limit. `done`
   * is called with the error where there is no scope, and never where the connection closes before.
   *
   * @param opener - opens the scope; made by {@link scopeOpener}
   * @param done - goes on with the request. Its error may be `AMBIT_HTTP_OVERLOADED`: too many requests are in progress
   */
  open(opener: ScopeOpener, done: Done): void {
    const connection = this.#connection;
    if (this.isFinished) {
      // Behind what Node refused, no more requests are taken.
      if (!connection.isFinishing) opener(this, done);
    } else if ((this.#hasTurn = connection.takeTurn())) this.#enter(opener, done);
    else this.#wait(opener, done);
  }

  /**
   * Opens the scope; called by the opener. That of a request that has finished is disposed at once.
   *
   * @param parent - the scope around it
   * @param options - the tags of the scope
   * @returns the request scope
   */
  openScope(parent: IContainer, options: { tags: string[] }): IContainer {
    try {
      return this.active.openScope(parent, options);
    } finally {
      if (this.isFinished) this.active.finish(this.#reason);
    }
  }

  /**
   * Finishes another one with this request, whose scope is opened elsewhere.
   *
   * @param active - takes the place of {@link ConnectedRequest.active}
   */
  follow(active: ActiveRequest): void {
    const { disconnectReason } = this.active;
    this.active = active;
    if (disconnectReason) active.leave();
    else if (this.isFinished) active.finish(this.#reason);
  }

  /** The connection is lost, or will take no response to this request: finishes it. */
  lose(): void {
    this.finish(true);
  }

  /** Finishes a request whose response is out, or never will be, where no event said so. */
  finishIfSent(): void {
    if (this.isWhole || this.res.destroyed) this.finish(!this.isWhole);
  }

  /**
   * Finishes the request: aborts its signal where the client has disconnected, and disposes its scope. A second call changes nothing.
   *
   * @param isDisconnected - whether the client left before it had its response
   */
  finish(isDisconnected: boolean): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.#connection.remove(this);
    if (isDisconnected) this.active.disconnect();
    this.#turn?.cancel();
    if (this.#hasEntered) this.#host.load.leave();
    this.finished();
    for (const notify of this.#onFinished ?? []) notify();
    this.#passTurn();
  }

  /** The client has all of the response. (To Node, one of HTTP/2 to HEAD is written from the beginning.) */
  protected get isWhole(): boolean {
    return this.res.writableEnded && this.res.writableFinished;
  }

  /** Called once, when the request has finished. The listeners of the response behind ours still have the scope. */
  protected finished(): void {
    const reason = this.#reason;
    void NOW.then(() => this.active.finish(reason));
  }

  /** Why a request that has finished failed: its client disconnected, its handler threw, or its response says so. */
  get #reason(): unknown {
    const { disconnectReason, failure } = this.active;
    if (disconnectReason) return disconnectReason;
    const { statusCode } = this.res;
    // Who responded to the error did not pass it on.
    return failure ?? (statusCode >= 500 ? new Error(`The response has the status ${statusCode}`) : undefined);
  }

  #wait(opener: ScopeOpener, done: Done): void {
    const { load } = this.#host;
    const enter = (): void => this.#enter(opener, done);
    if (mayNotWait(this)) return enter();
    if (!load.wait(this.req)) return this.#refuse(done);
    this.#turn = new PendingTurn(this, this.#connection, load, {
      take: () => void (this.#hasTurn = true),
      begin: enter,
    });
  }

  #enter(opener: ScopeOpener, done: Done): void {
    this.#hasEntered = this.#host.load.enter(this.req);
    if (this.#hasEntered) opener(this, done);
    else this.#refuse(done);
  }

  #refuse(done: Done): void {
    this.res.setHeader('retry-after', '1');
    done(new HttpError('AMBIT_HTTP_OVERLOADED'));
  }

  #passTurn(): void {
    if (this.#hasTurn) this.#connection.passTurn();
    this.#hasTurn = false;
  }
}
