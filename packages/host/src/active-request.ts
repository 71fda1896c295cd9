import { type IContainer, runInScope } from '@ambit/container';
import { HttpError } from './errors.js';

/** The same symbol in every copy of this package, so that copies in one tree find each other's requests. */
const ACTIVE_REQUEST = Symbol.for('@ambit/host');

interface OfRequest {
  [ACTIVE_REQUEST]?: ActiveRequest;
}

/** What opens active requests: one for all requests of a handler, so that a request costs few objects. */
export interface RequestObserver {
  /** Whether the scope is `currentScope()` for all that the request causes. */
  readonly isCurrent: boolean;
  /**
   * Called when the scope failed to dispose.
   *
   * @param error - the `DisposeError`
   * @param request - the request that the scope was opened for
   */
  onDisposeError(error: unknown, request: unknown): void;
  /** Called once for each request, when its scope has been disposed. */
  onDisposed(): void;
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
  /** The open transaction of the request: it is rolled back before the scope is disposed. */
  transaction: { rollback(reason: unknown): Promise<void> } | undefined = undefined;
  /** Called once when the client leaves; a second listener replaces the first. */
  onDisconnect: ((reason: HttpError) => void) | undefined = undefined;
  readonly #observer: RequestObserver;
  readonly #client: RequestClient;
  readonly #request: unknown;
  #scope: IContainer | undefined = undefined;
  #abort: AbortController | undefined = undefined;
  #disconnectReason: HttpError | undefined = undefined;
  #isFinished = false;
  /** Aborts when the client leaves; undefined where something else calls `leave()`. */
  #clientSignal: AbortSignal | undefined = undefined;

  /**
   * Begins when the request has arrived; `open()` gives it its scope.
   *
   * @param observer - is notified of the disposal of the scope
   * @param client - knows when the client leaves
   * @param request - what `onDisposeError` of the observer is called with
   */
  constructor(observer: RequestObserver, client: RequestClient, request: unknown) {
    this.#observer = observer;
    this.#client = client;
    this.#request = request;
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
   * Takes over the scope, of a request that has not finished, and registers `IRequestSignal` on it.
   *
   * @param scope - the request scope
   */
  open(scope: IContainer): void {
    this.#scope = scope;
    (scope as OfRequest)[ACTIVE_REQUEST] = this;
    scope.register('IRequestSignal', () => this.signal);
  }

  /** The request scope, once `open()` was called. */
  get scope(): IContainer {
    return this.#scope as IContainer;
  }

  /** The disposal of the scope has begun. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Why the signal has aborted. */
  get disconnectReason(): HttpError | undefined {
    return this.#disconnectReason;
  }

  /** Why the request failed, where that is known before it has finished: what its handler threw, or what its response says. */
  failure: unknown = undefined;

  /**
   * Goes on only where the client is still there.
   *
   * @throws `HttpError` `AMBIT_HTTP_CLIENT_DISCONNECTED`: the client has left
   */
  throwIfDisconnected(): void {
    if (this.#disconnectReason) throw this.#disconnectReason;
  }

  /** Aborts when the client leaves before it has the whole response. Made when somebody first asks. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#disconnectReason) this.#abort.abort(this.#disconnectReason);
    }
    return this.#abort.signal;
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
      this.onDisconnect = reject;
      this.run(async () => work()).then(resolve, reject);
    });
  }

  /** @internal The request's own signal has aborted. */
  handleEvent(): void {
    this.leave();
  }

  /** The client has left before it had the whole response. */
  leave(): void {
    if (this.#isFinished) return;
    const reason = new HttpError('AMBIT_HTTP_CLIENT_DISCONNECTED');
    this.#disconnectReason = reason;
    this.#abort?.abort(reason);
    this.finish(reason);
    this.onDisconnect?.(reason);
  }

  /**
   * Rolls back what is still open, then disposes the scope. A second call changes nothing.
   *
   * @param reason - why the transaction is rolled back; disposers receive it. Default: {@link ActiveRequest.failure}
   */
  finish(reason: unknown = this.failure): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#clientSignal?.removeEventListener('abort', this);
    const disposing = this.#dispose(reason);
    this.#client.waitUntil?.(disposing);
  }

  /** Never rejects. */
  async #dispose(reason?: unknown): Promise<void> {
    if (this.transaction) await this.transaction.rollback(reason);
    try {
      await this.#scope?.dispose(reason);
    } catch (error) {
      this.#observer.onDisposeError(error, this.#request);
    } finally {
      this.#observer.onDisposed();
    }
  }
}
