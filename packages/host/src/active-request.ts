import { type IContainer, runInScope } from '@ambit/container';
import { HttpError } from './errors.js';

/** The same symbol in every copy of this package, so that copies in one tree find each other's requests. */
const ACTIVE_REQUEST = Symbol.for('@ambit/host');

interface OfRequest {
  [ACTIVE_REQUEST]?: ActiveRequest;
}

/** What opens active requests: one for all requests of a handler, so that a request costs few objects. */
export interface RequestObserver {
  /** Whether the scope is `currentScope()` for what `run()` of a request calls. */
  readonly isCurrent?: boolean;
  /**
   * Called when the scope failed to dispose.
   *
   * @param error - the `DisposeError`
   * @param request - the request that the scope was opened for
   */
  onDisposeError(error: unknown, request: unknown): void;
  /** Called once for each request, when its scope has been disposed. */
  readonly onDisposed?: () => void;
}

/** What knows the client of a request, and keeps the platform running for its disposal. */
export interface RequestClient {
  /**
   * Calls `active.leave()` when the client leaves before it has the whole response.
   *
   * @param active - the request
   */
  watch(active: ActiveRequest): void;
  /** The host has a limit of its own for requests in progress. */
  readonly isAdmitted?: boolean;
  /** Keeps the platform running until the promise, which never rejects, has settled. */
  readonly waitUntil?: ((disposing: Promise<void>) => void) | undefined;
}

/**
 * One request, from the opening of its scope until that is disposed. It finishes once: with its response body, with the
 * failure of its handler, or when the client leaves, whichever comes first. {@link RequestScopes} makes them.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { RequestScopes } from '@ambit/host';
 *
 * const scopes = new RequestScopes(new Container({ tags: ['application'] }), {}, 'serve()');
 *
 * async function serve(request: Request): Promise<Response> {
 *   const active = await scopes.open(request, undefined, { watch: (opened) => opened.watch(request.signal) });
 *   const greeting = active.scope.resolve<string>('IGreeting');
 *   active.finish(); // disposes the scope
 *   return new Response(greeting);
 * }
 * ```
 */
export class ActiveRequest {
  /** The request scope; undefined until it is opened. */
  openedScope: IContainer | undefined = undefined;
  /** The open transaction of the request: it is rolled back before the scope is disposed. */
  transaction: { rollback(reason: unknown): Promise<void> } | undefined = undefined;
  /** Why the request failed, where that is known before it has finished: what its handler threw, or what its response says. */
  failure: unknown = undefined;
  /** Why the signal has aborted: the client has left. */
  disconnectReason: HttpError | undefined = undefined;
  /** Nothing more comes of the request. */
  isFinished = false;
  /** The disposal of the scope has begun. */
  isDisposed = false;
  readonly #observer: RequestObserver;
  readonly #request: unknown;
  readonly #client: RequestClient | undefined;
  #abort: AbortController | undefined = undefined;
  #onDisconnect: ((reason: HttpError) => void) | undefined = undefined;
  #disposing: Promise<void> | undefined = undefined;
  /** Why the scope is disposed. */
  #reason: unknown = undefined;
  /** Aborts when the client leaves; undefined where something else calls `leave()`. */
  #clientSignal: AbortSignal | undefined = undefined;

  /**
   * Begins when the request has arrived; `openScope()` gives it its scope.
   *
   * @param observer - is notified of the disposal of the scope
   * @param request - what `onDisposeError` of the observer is called with
   * @param client - keeps the platform running for the disposal. Default: nothing does
   */
  constructor(observer: RequestObserver, request: unknown, client?: RequestClient) {
    this.#observer = observer;
    this.#request = request;
    this.#client = client;
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
   * Calls `leave()` when the signal aborts.
   *
   * @param signal - the signal of the request
   */
  watch(signal: AbortSignal): void {
    if (signal.aborted) return this.leave();
    this.#clientSignal = signal;
    signal.addEventListener('abort', this);
  }

  /**
   * Opens the scope, in which `IRequestSignal` is {@link ActiveRequest.signal}. That of a request which is disposed already is disposed at
   * once.
   *
   * @param parent - the scope around it
   * @param options - the tags of the scope
   * @returns the request scope
   */
  openScope(parent: IContainer, options: { tags: string[] }): IContainer {
    try {
      const scope = (this.openedScope = parent.createScope(options));
      (scope as OfRequest)[ACTIVE_REQUEST] = this;
      scope.register('IRequestSignal', () => this.signal);
      return scope;
    } finally {
      if (this.isDisposed) void this.#disposeScope();
    }
  }

  /** The request scope, once it is opened. */
  get scope(): IContainer {
    return this.openedScope as IContainer;
  }

  /**
   * Goes on only where the client is still there.
   *
   * @throws `HttpError` `AMBIT_HTTP_CLIENT_DISCONNECTED`: the client has left
   */
  throwIfDisconnected(): void {
    if (this.disconnectReason) throw this.disconnectReason;
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
   * @param scope - the scope. Default: that of the request
   * @returns what the function returns
   */
  run<T>(work: () => T, scope: IContainer = this.scope): T {
    return this.#observer.isCurrent ? runInScope(scope, work) : work();
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
    this.finish(this.disconnectReason);
  }

  /** Aborts the signal, and calls the listener: what they stop is stopped with the true reason, before the disposal stops it anyway. */
  disconnect(): void {
    const reason = new HttpError('AMBIT_HTTP_CLIENT_DISCONNECTED');
    this.disconnectReason = reason;
    this.#abort?.abort(reason);
    this.#onDisconnect?.(reason);
  }

  /**
   * Rolls back what is still open, then disposes the scope. A second call changes nothing.
   *
   * @param reason - why the transaction is rolled back; disposers receive it. Default: {@link ActiveRequest.failure}
   */
  finish(reason: unknown = this.failure): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.#clientSignal?.removeEventListener('abort', this);
    const disposing = this.dispose(reason);
    this.#client?.waitUntil?.(Promise.resolve(disposing).catch(() => undefined));
  }

  /**
   * Rolls back and disposes once, before the request has finished or when it has. What fails goes to `onDisposeError` of the observer.
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
  async #disposeBoth(transaction: { rollback(reason: unknown): Promise<void> }): Promise<void> {
    await transaction.rollback(this.#reason);
    await Promise.allSettled([this.#disposeScope()]);
  }

  #disposeScope(): Promise<void> | undefined {
    const { onDisposed } = this.#observer;
    const fail = (error: unknown): void => {
      this.#observer.onDisposeError(error, this.#request);
      onDisposed?.();
    };
    try {
      const disposing = this.openedScope?.dispose(this.#reason) ?? undefined;
      if (disposing) disposing.then(onDisposed, fail);
      else onDisposed?.();
      return disposing;
    } catch (error) {
      fail(error);
      return undefined;
    }
  }
}
