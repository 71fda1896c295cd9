import { type IContainer, runInScope, type ScopeOptions } from '@ambit/container';
import { publishResponse, startServices } from '@ambit/transaction/host';
import { HttpError, isAfterDisconnect, report } from './errors.js';
import {
  checkCount,
  checkFunctions,
  checkParent,
  checkRequestOptions,
  checkReturnedParent,
  checkTimes,
  type ParentScope,
  type RequestOptions,
} from './options.js';
import { settleWithin } from './time-limit.js';
import type { RequestTransaction } from './transaction.js';

/** A registered symbol, so that several copies of this package in one tree find each other's requests. */
const ACTIVE_REQUEST = Symbol.for('@ambit/http/host');

interface OfRequest {
  [ACTIVE_REQUEST]?: ActiveRequest;
  /** A container that takes services has those that the scope was opened with there. */
  services?: unknown;
}

/** The services of every request scope: the signals of its request. */
const SIGNALS: NonNullable<ScopeOptions['services']> = {
  IRequestSignal: (scope) => requestOf(scope).signal,
  IShutdownSignal: (scope) => requestOf(scope).shutdownSignal,
};

/** `openScope()` notes the request before anybody has the scope. */
const requestOf = (scope: IContainer): ActiveRequest => ActiveRequest.of(scope) as ActiveRequest;

interface OpenOptions extends ScopeOptions {
  tags: string[];
}

/** The client of a request, as the runtime knows it, and how the runtime is kept running for the disposal. */
export interface RequestClient {
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** Keeps the platform running until the promise, which never rejects, has settled. */
  readonly waitUntil?: ((disposing: Promise<void>) => void) | undefined;
  /** A connection works for the request that opened it only, as in Workers: a pool of the application is refused. Default: false. */
  readonly ownsConnections?: boolean | undefined;
}

/**
 * One request, from the opening of its scope until that is disposed. It finishes once: with its response body, with the
 * failure of its handler, or when the client leaves, whichever comes first. {@link RequestScopes} makes them.
 */
export class ActiveRequest {
  /** The request scope; undefined until it is opened. */
  scope: IContainer | undefined = undefined;
  /** The open transaction of the request: it is rolled back before the scope is disposed. */
  transaction: RequestTransaction | undefined = undefined;
  /** Why the request failed, where that is known before it has finished: what its handler threw, or what its response says. */
  failure: unknown = undefined;
  /** Why the signal has aborted: the client has left. */
  disconnectReason: HttpError | undefined = undefined;
  /** @internal The scope that `run()` makes the current one: that of the request, or of its open transaction. */
  currentScope: IContainer | undefined = undefined;
  /** @internal It counts as one in progress. */
  isAdmitted = false;
  /** Nothing more comes of the request. */
  isFinished = false;
  /** @internal The disposal of the scope has begun. */
  isDisposed = false;
  /** The request, as the functions among the options of its scopes know it. */
  readonly request: unknown;
  /** @internal Those of the middleware or handler. */
  readonly scopes: RequestScopes<never, never>;
  readonly #client: RequestClient | undefined;
  #abort: AbortController | undefined = undefined;
  #shutdown: AbortController | undefined = undefined;
  #isShuttingDown = false;
  #onDisconnect: ((reason: HttpError) => void) | undefined = undefined;
  #disposing: Promise<void> | undefined = undefined;
  #reason: unknown = undefined;

  /**
   * Begins when the request has arrived; its scopes open its own.
   *
   * @param scopes - those of the middleware or handler
   * @param request - what the functions among their options are called with
   * @param client - says when the client leaves. Default: something else calls `leave()`
   */
  constructor(scopes: RequestScopes<never, never>, request: unknown, client?: RequestClient) {
    this.scopes = scopes;
    this.request = request;
    this.#client = client;
    client?.signal.addEventListener('abort', this);
    if (client?.signal.aborted) this.leave();
  }

  /**
   * The request whose scope this is, also where another copy of this package has opened it.
   *
   * @param scope - the scope
   * @returns undefined for a scope that no request has
   */
  static of(scope: IContainer): ActiveRequest | undefined {
    return (scope as OfRequest)[ACTIVE_REQUEST];
  }

  /**
   * @internal Opens the scope. That of a request which is disposed already is disposed at once.
   */
  openScope(parent: IContainer, options: OpenOptions): IContainer {
    if (this.#client?.ownsConnections) this.scopes.refuseSharedPool(parent);
    try {
      const scope = (this.scope = this.currentScope = parent.createScope(options));
      (scope as OfRequest)[ACTIVE_REQUEST] = this;
      if ((scope as OfRequest).services !== options.services) {
        // Another container takes only the tags of the options.
        scope.register('IRequestSignal', () => this.signal);
        scope.register('IShutdownSignal', () => this.shutdownSignal);
      }
      return scope;
    } finally {
      if (this.isDisposed) void this.#disposeScope();
    }
  }

  /** It has finished, or is about to, because its client has left. */
  get isOver(): boolean {
    return this.isFinished || this.disconnectReason !== undefined;
  }

  /**
   * Goes on only where the client is still there.
   *
   * @throws `HttpError` `AMBIT_HTTP_CLIENT_DISCONNECTED`: the client has left
   */
  throwIfDisconnected(): void {
    if (this.disconnectReason) throw this.disconnectReason;
  }

  /**
   * Tells if this failed only because the client has left: there is nobody to respond to, and nothing to report.
   *
   * @param error - what the handler of the request failed with, or its transaction
   * @returns false for every other failure
   */
  isOfDisconnect(error: unknown): boolean {
    return this.disconnectReason !== undefined && isAfterDisconnect(error);
  }

  /**
   * Notes the status of the response: one of 500 or more as the failure of the request, unless that is known, since an error handler
   * responded and passed nothing on.
   *
   * @param status - the status of the response
   */
  respondedWith(status: number): void {
    if (this.scope && !this.disconnectReason) publishResponse(this.scope, status);
    if (status >= 500) this.failure ??= new Error(`The response has the status ${status}`);
  }

  /** Aborts when the client leaves before it has the whole response. Made when somebody first asks. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.disconnectReason) this.#abort.abort(this.disconnectReason);
    }
    return this.#abort.signal;
  }

  /**
   * Aborts with `AMBIT_DRAINING` when the server begins to shut down: an endless response, such as server-sent events, ends then. Made
   * when somebody first asks. It belongs to this request, so a listener on it is released with the request.
   */
  get shutdownSignal(): AbortSignal {
    if (!this.#shutdown) {
      this.#shutdown = new AbortController();
      this.scopes.onDraining(this);
      if (this.#isShuttingDown) this.shutDown();
    }
    return this.#shutdown.signal;
  }

  /** The server has begun to shut down: aborts the signal that says so. */
  shutDown(): void {
    this.#isShuttingDown = true;
    this.#shutdown?.abort(new HttpError('AMBIT_DRAINING'));
  }

  /**
   * Notifies one listener of what the signal says, for much less than a signal costs. A second listener replaces the first.
   *
   * @param listener - called with `AMBIT_HTTP_CLIENT_DISCONNECTED`; at once if the client has left already
   */
  onDisconnect(listener: (reason: HttpError) => void): void {
    this.#onDisconnect = listener;
    if (this.disconnectReason) listener(this.disconnectReason);
  }

  /**
   * Calls `work` with the scope as the current one, where the application asked for that.
   *
   * @param work - the function
   * @param scope - the scope. Default: {@link ActiveRequest.currentScope}
   * @returns what the function returns
   */
  run<T>(work: () => T, scope: IContainer | undefined = this.currentScope): T {
    return scope && this.scopes.isCurrent ? runInScope(scope, work) : work();
  }

  /**
   * Calls `work` as `run()` does. Settles as that does, but rejects when the client leaves: the work may never settle, and
   * servers that shut down wait for their handlers.
   *
   * @param work - the function
   * @returns what the function resolves to
   * @throws what the function throws; `HttpError` `AMBIT_HTTP_CLIENT_DISCONNECTED`: the client has left
   */
  whileClientIsThere<T>(work: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.throwIfDisconnected();
      this.onDisconnect(reject);
      this.run(async () => work()).then(resolve, reject);
    });
  }

  /** @internal The request's own signal has aborted. */
  handleEvent(): void {
    this.leave();
  }

  /** The client has left before it had the whole response. */
  leave(): void {
    if (this.isFinished) return;
    this.disconnect();
    this.finish();
  }

  /** Aborts the signal, and calls the listener: what they stop is stopped with the true reason, before the disposal stops it anyway. */
  disconnect(): void {
    if (this.disconnectReason) return;
    const reason = new HttpError('AMBIT_HTTP_CLIENT_DISCONNECTED');
    this.disconnectReason = reason;
    this.#abort?.abort(reason);
    this.#onDisconnect?.(reason);
  }

  /**
   * Rolls back what is still open, then disposes the scope. A second call changes nothing.
   *
   * @param reason - why the transaction is rolled back; disposers receive it. Default: that the client has left, or {@link ActiveRequest.failure}
   */
  finish(reason: unknown = this.disconnectReason ?? this.failure): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.scopes.onFinished(this);
    if (this.#shutdown) this.scopes.offDraining(this);
    this.#client?.signal.removeEventListener('abort', this);
    const disposing = this.dispose(reason);
    this.#client?.waitUntil?.(Promise.resolve(disposing).catch(() => undefined));
  }

  /**
   * Rolls back and disposes once, before the request has finished or when it has. What fails goes to `onDisposeError` of its scopes.
   *
   * @param reason - why, where a failure is the reason
   * @returns a promise where there may be something to wait for
   */
  dispose(reason?: unknown): Promise<void> | undefined {
    if (!this.isDisposed) {
      this.isDisposed = true;
      this.#reason = reason;
      this.#disposing = this.transaction ? this.#disposeBoth(this.transaction) : this.#disposeScope();
    }
    return this.#disposing;
  }

  /** Not every container disposes the children of a scope with it, so the transaction does not rely on that. */
  async #disposeBoth(transaction: RequestTransaction): Promise<void> {
    await this.scopes.rollbackBeforeDisposal(this, transaction, this.#reason);
    await Promise.allSettled([this.#disposeScope()]);
  }

  #disposeScope(): Promise<void> | undefined {
    const scopes = this.scopes;
    try {
      const disposing = this.scope?.dispose(this.#reason) ?? undefined;
      if (!disposing) scopes.onDisposed(this);
      else
        disposing.then(
          () => scopes.onDisposed(this),
          (error: unknown) => scopes.onDisposeError(this, error),
        );
      return disposing;
    } catch (error) {
      scopes.onDisposeError(this, error);
      return undefined;
    }
  }
}

/** The time that `drain()` waits. */
export interface DrainRequestsOptions {
  /** After this long `drain()` rejects, with the requests still open; `Infinity`: never. Default 10 s. */
  readonly timeoutMs?: number;
}

/** How scopes are opened, how many requests are taken on, and who is notified of a disposal that failed. */
export interface RequestScopesOptions<Q = Request> extends RequestOptions<Q> {
  /** The number of requests that may be in progress. A further one fails with `AMBIT_HTTP_OVERLOADED`. Default: no limit. */
  readonly maxRequests?: number;
  /** Requests that are never refused, such as the liveness probe. Default: none. */
  readonly isEssential?: (request: Q) => boolean;
  /** Called when a request scope failed to dispose. Default: `console.error`. */
  readonly onDisposeError?: (error: unknown, request: Q) => unknown;
  /** Rolls back the transaction that is still open when the scope is disposed. Default: with the reason of the disposal. */
  readonly rollbackBeforeDisposal?: (request: Q, transaction: RequestTransaction, reason: unknown) => Promise<void>;
}

function checkOptions<Q>(options: RequestScopesOptions<Q>): void {
  checkRequestOptions(options);
  checkFunctions(options, 'isEssential', 'onDisposeError');
  if (options.maxRequests !== undefined) checkCount('maxRequests', options.maxRequests);
}

const SHARED_POOL =
  "IDatabasePool belongs to the application, but in a Worker a connection works only in the request that opened it, and others would hang. Let each request have its own: IDatabasePool: make('request', () => createPostgresPool({ connectionString, max: 1 })), as in docs/guides/workers.md";

const REQUEST_TAGS: readonly string[] = ['request'];

/**
 * Opens the request scopes of one handler or middleware, counts its requests, and waits for them when the process shuts down.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { RequestScopes } from '@ambit/http/host';
 *
 * const scopes = new RequestScopes(new Container({ tags: ['application'] }), {}, 'myMiddleware()');
 *
 * async function myMiddleware(request: Request, next: (scope?: object) => Promise<Response>): Promise<Response> {
 *   const active = await scopes.open(request, undefined, request);
 *   try {
 *     return await next(active.scope);
 *   } finally {
 *     active.finish();
 *   }
 * }
 * ```
 */
export class RequestScopes<Q = Request, C = unknown> {
  /** True if the scope is `currentScope()` for what `run()` of a request calls. */
  readonly isCurrent: boolean;
  /** True if a response of this status rolls back, where the route says nothing else. */
  readonly rollbackOn: ((status: number) => boolean) | undefined;
  readonly #parent: ParentScope<Q, [context: C]>;
  readonly #options: RequestScopesOptions<Q>;
  readonly #opened: OpenOptions;
  readonly #caller: string;
  readonly #max: number;
  #inProgress = 0;
  /** The number of request scopes that are not disposed yet. Every request reads it: a property costs less than a getter. */
  openRequests = 0;
  /** Resolve the calls of `drain()` that wait until all are disposed. */
  readonly #draining = new Set<() => void>();
  /** Requests whose signal aborts when `drain()` is called. */
  readonly #listening = new Set<ActiveRequest>();
  #isDraining = false;
  #sharesNoPool = false;

  /**
   * Checks the arguments when the application starts.
   *
   * @param parent - the application container, or a function of the request and its context that gives the parent scope
   * @param options - how scopes are opened, and how many requests are taken on
   * @param caller - what the errors of invalid arguments name, such as `middleware()`
   * @throws `HttpError` `AMBIT_OPTION`: an argument or an option is invalid
   */
  constructor(parent: ParentScope<Q, [context: C]>, options: RequestScopesOptions<Q>, caller: string) {
    checkParent(parent, caller);
    checkOptions(options);
    const { tags = REQUEST_TAGS, maxRequests = Infinity, current = false } = options;
    this.#parent = parent;
    this.#options = options;
    this.#caller = caller;
    this.#opened = { tags: [...tags], services: SIGNALS };
    this.#max = maxRequests;
    this.isCurrent = current;
    this.rollbackOn = options.rollbackOn;
  }

  /**
   * @internal Rolls back the transaction that is still open when the scope is disposed.
   */
  rollbackBeforeDisposal({ request }: ActiveRequest, transaction: RequestTransaction, reason: unknown): Promise<void> {
    const { rollbackBeforeDisposal } = this.#options;
    return rollbackBeforeDisposal
      ? rollbackBeforeDisposal(request as Q, transaction, reason)
      : transaction.rollback(reason);
  }

  /**
   * Begins a request and opens its scope: at once, unless there is something to wait for. When this fails, the scope is being
   * disposed already; otherwise the caller finishes the request.
   *
   * @param request - the request, for the functions among the options
   * @param context - what the function for the parent scope receives besides it
   * @param client - says when the client leaves, such as the request itself
   * @returns the request with its scope; a promise where `register`, `start` or a function for the parent scope is used
   * @throws `HttpError` `AMBIT_HTTP_OVERLOADED`: `maxRequests` are in progress; `AMBIT_HTTP_CLIENT_DISCONNECTED`: the client
   *   has left. Whatever `register`, `onStart` or the function for the parent scope throws. Also as a rejection
   */
  open(request: Q, context: C, client: RequestClient): ActiveRequest | Promise<ActiveRequest> {
    const active = new ActiveRequest(this, request, client);
    const opened = (): ActiveRequest => {
      active.throwIfDisconnected();
      return active;
    };
    try {
      opened();
      this.admit(active);
      const opening = this.openScope(active, context);
      return opening ? opening.then(opened).catch((error: unknown) => fail(active, error)) : active;
    } catch (error) {
      return fail(active, error);
    }
  }

  /**
   * Counts a request as one in progress, until it has finished.
   *
   * @param active - the request
   * @param isFull - whether clients hold all the memory that they may. Default: false
   * @throws `HttpError` `AMBIT_HTTP_OVERLOADED`: `maxRequests` are in progress, or `isFull`
   */
  admit(active: ActiveRequest, isFull = false): void {
    if ((isFull || this.#inProgress >= this.#max) && this.#options.isEssential?.(active.request as Q) !== true)
      throw new HttpError('AMBIT_HTTP_OVERLOADED');
    this.#inProgress += 1;
    this.openRequests += 1;
    active.isAdmitted = true;
  }

  /**
   * Opens the scope of a request. When this fails, the caller finishes the request.
   *
   * @param active - the request
   * @param context - what the function for the parent scope receives besides it
   * @returns a promise where `register`, `start` or a function for the parent scope is used
   * @throws whatever these throw, also as a rejection
   */
  openScope(active: ActiveRequest, context: C): Promise<void> | undefined {
    const { register, start } = this.#options;
    if (typeof this.#parent === 'function' || register || start) return this.#prepare(active, context);
    active.openScope(this.#parent, this.#opened);
    return undefined;
  }

  async #prepare(active: ActiveRequest, context: C): Promise<void> {
    const { register, start } = this.#options;
    const request = active.request as Q;
    const parent = typeof this.#parent === 'function' ? await this.#parent(request, context) : this.#parent;
    if (active.isOver) return;
    checkReturnedParent(parent, this.#caller);
    const scope = active.openScope(parent, this.#opened);
    if (register) await active.run(() => register(scope, request));
    if (start && !active.isOver) await active.run(() => startServices(scope, this.#caller));
  }

  /**
   * @internal Refuses a pool that several requests would use, where connections belong to one. Looks at the first request only.
   */
  refuseSharedPool(parent: IContainer): void {
    if (this.#sharesNoPool) return;
    try {
      parent.resolve('IDatabasePool');
    } catch {
      this.#sharesNoPool = true;
      return;
    }
    throw new HttpError('AMBIT_OPTION', SHARED_POOL);
  }

  /**
   * @internal Nothing more comes of the request.
   */
  onFinished(active: ActiveRequest): void {
    if (active.isAdmitted) this.#inProgress -= 1;
  }

  /**
   * @internal Calls `shutDown()` of the request when `drain()` is called, or has been.
   */
  onDraining(active: ActiveRequest): void {
    if (this.#isDraining) active.shutDown();
    else this.#listening.add(active);
  }

  /**
   * @internal
   */
  offDraining(active: ActiveRequest): void {
    this.#listening.delete(active);
  }

  /**
   * @internal The scope of the request is disposed.
   */
  onDisposed(active: ActiveRequest): void {
    if (active.isAdmitted) this.openRequests -= 1;
    if (this.openRequests === 0) for (const resolve of this.#draining) resolve();
  }

  /**
   * @internal The scope of the request failed to dispose.
   */
  onDisposeError(active: ActiveRequest, error: unknown): void {
    report(this.#options.onDisposeError, error, active.request as Q);
    this.onDisposed(active);
  }

  /**
   * Aborts `IShutdownSignal` of all requests, and resolves when no request scope is open.
   *
   * @param options - how long to wait. Default: 10 s
   * @throws `HttpError` `AMBIT_HTTP_DISPOSE_TIMEOUT`: scopes are still open after `timeoutMs`; `AMBIT_OPTION`: that is no number
   */
  async drain({ timeoutMs = 10_000 }: DrainRequestsOptions = {}): Promise<void> {
    checkTimes({ timeoutMs }, 'timeoutMs');
    this.#isDraining = true;
    for (const active of this.#listening) active.shutDown();
    if (this.openRequests === 0) return;
    let onDrained!: () => void;
    const drained = new Promise<void>((resolve) => (onDrained = resolve));
    this.#draining.add(onDrained);
    const onPassed = (): HttpError =>
      new HttpError('AMBIT_HTTP_DISPOSE_TIMEOUT', `${this.openRequests} are open after ${timeoutMs} ms`);
    try {
      await settleWithin(drained, { ms: timeoutMs, onPassed });
    } finally {
      this.#draining.delete(onDrained);
    }
  }
}

/** After a disconnect every failure is a consequence of the disposal, so the disconnect is thrown. */
function fail(active: ActiveRequest, error: unknown): never {
  active.finish(error);
  throw active.disconnectReason ?? error;
}
