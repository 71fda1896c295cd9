import { type IContainer, runInScope } from '@ambit/container';
import {
  checkCount,
  checkFunctions,
  checkParent,
  checkRequestOptions,
  checkReturnedParent,
  checkTimes,
  HttpError,
  type ParentScope as ParentScopeOf,
  report,
  type RequestOptions as CommonOptions,
} from '@ambit/host';

/** The same symbol in every copy of this package, so that copies in one tree find each other's requests. */
const ACTIVE_REQUEST = Symbol.for('@ambit/fetch');

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
 * import { finishWithBody, RequestScopes } from '@ambit/fetch/host';
 *
 * const scopes = new RequestScopes(new Container({ tags: ['application'] }), {}, 'serve()');
 *
 * async function serve(request: Request): Promise<Response> {
 *   const active = await scopes.open(request, undefined, { watch: (opened) => opened.watch(request.signal) });
 *   const greeting = active.scope.resolve<string>('IGreeting');
 *   return finishWithBody(active, request.method, new Response(greeting)); // disposes the scope
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

/** How long `drain()` waits. */
export interface DrainOptions {
  /** After this long `drain()` rejects, with the requests still open; `Infinity`: never. Default 10 s. */
  readonly timeoutMs?: number;
}

/** From here on timers fire at once. */
const TOO_LONG_MS = 2 ** 31;

/** How many requests of one handler are open: from their arrival until their scope is disposed. */
export class OpenRequests {
  readonly #max: number;
  #count = 0;
  readonly #waiting = new Set<() => void>();

  constructor(max = Infinity) {
    this.#max = max;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether a further request is to be refused, unless it is essential. */
  get isFull(): boolean {
    return this.#count >= this.#max;
  }

  /** Counts a request, for which `leave()` must follow once. */
  enter(): void {
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const resolve of this.#waiting) resolve();
  }

  /** Resolves when no request is open. */
  drain({ timeoutMs = 10_000 }: DrainOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      checkTimes({ timeoutMs }, 'timeoutMs');
      if (this.#count === 0) return resolve();
      const fail = (): void => {
        this.#waiting.delete(finish);
        reject(new HttpError('AMBIT_HTTP_DISPOSE_TIMEOUT', `${this.#count} are open after ${timeoutMs} ms`));
      };
      const timer = timeoutMs < TOO_LONG_MS ? setTimeout(fail, timeoutMs) : undefined;
      const finish = (): void => {
        this.#waiting.delete(finish);
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.add(finish);
    });
  }
}

/** The scope around the request's own: the application container, or what a function of the request gives. */
export type ParentScope<Q, C> = ParentScopeOf<Q, [context: C]>;

/** The same on every host. */
export interface RequestOptions<Q = Request> extends CommonOptions<Q> {
  /** How many requests may be in progress. A further one fails with `AMBIT_HTTP_OVERLOADED`. Default: no limit. */
  readonly maxRequests?: number;
  /** Requests that are never refused, such as the liveness probe. Default: none. */
  readonly isEssential?: (request: Q) => boolean;
  /** Called when a request scope failed to dispose. Default: `console.error`. */
  readonly onDisposeError?: (error: unknown, request: Q) => unknown;
}

function checkOptions<Q>(options: RequestOptions<Q>): void {
  checkRequestOptions(options);
  checkFunctions(options, 'isEssential', 'onDisposeError');
  if (options.maxRequests !== undefined) checkCount('maxRequests', options.maxRequests);
}

const REQUEST_TAGS: readonly string[] = ['request'];

/**
 * Opens the request scopes of one handler or middleware, and waits for them when the process shuts down.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { finishWithBody, RequestScopes } from '@ambit/fetch/host';
 *
 * const scopes = new RequestScopes(new Container({ tags: ['application'] }), {}, 'myMiddleware()');
 *
 * async function myMiddleware(request: Request, next: (scope: object) => Promise<Response>): Promise<Response> {
 *   const active = await scopes.open(request, undefined, { watch: (opened) => opened.watch(request.signal) });
 *   try {
 *     return await finishWithBody(active, request.method, await next(active.scope));
 *   } catch (error) {
 *     active.finish(error);
 *     throw error;
 *   }
 * }
 * ```
 */
export class RequestScopes<Q = Request, C = unknown> {
  readonly #parent: ParentScope<Q, C>;
  readonly #options: RequestOptions<Q>;
  readonly #tags: { tags: string[] };
  readonly #requests: OpenRequests;
  readonly #observer: RequestObserver;
  readonly #caller: string;

  /**
   * Checks the arguments when the application starts.
   *
   * @param parent - the application container, or a function of the request and its context that gives the parent scope
   * @param options - how scopes are opened, and how many requests are taken on
   * @param caller - what the errors of invalid arguments name, such as `middleware()`
   * @throws `HttpError` `AMBIT_HTTP_OPTION`: an argument or an option is invalid
   */
  constructor(parent: ParentScope<Q, C>, options: RequestOptions<Q>, caller: string) {
    checkParent(parent, caller);
    checkOptions(options);
    this.#parent = parent;
    this.#caller = caller;
    this.#options = options;
    this.#tags = { tags: [...(options.tags ?? REQUEST_TAGS)] };
    this.#requests = new OpenRequests(options.maxRequests);
    const { current = false, onDisposeError } = options;
    this.#observer = {
      isCurrent: current,
      onDisposeError: (error, request) => report(onDisposeError, error, request as Q),
      onDisposed: () => this.#requests.leave(),
    };
  }

  /** How many request scopes are not disposed yet. */
  get openRequests(): number {
    return this.#requests.count;
  }

  /**
   * Opens the scope of a request: at once, unless there is something to wait for. When this fails, the scope is being
   * disposed already; otherwise the caller finishes the request.
   *
   * @param request - the request, for the functions among the options
   * @param context - what the function for the parent scope receives besides it
   * @param client - knows when the client leaves
   * @returns the request with its scope; a promise where `register`, `start` or a function for the parent scope is used
   * @throws `HttpError` `AMBIT_HTTP_OVERLOADED`: `maxRequests` are in progress; `AMBIT_HTTP_CLIENT_DISCONNECTED`: the client has left. Whatever
   *   `register`, `onStart` or the function for the parent scope throws. Also as a rejection
   */
  open(request: Q, context: C, client: RequestClient): ActiveRequest | Promise<ActiveRequest> {
    const { isEssential, register, start } = this.#options;
    if (this.#requests.isFull && !client.isAdmitted && !isEssential?.(request))
      throw new HttpError('AMBIT_HTTP_OVERLOADED');
    this.#requests.enter();
    const active = new ActiveRequest(this.#observer, client, request);
    try {
      client.watch(active);
      if (typeof this.#parent === 'function' || register || start) return this.#prepare(active, request, context);
      return this.#openScope(active, this.#parent);
    } catch (error) {
      throw failureOf(active, error);
    }
  }

  async #prepare(active: ActiveRequest, request: Q, context: C): Promise<ActiveRequest> {
    const { register, start } = this.#options;
    try {
      const parent = typeof this.#parent === 'function' ? await this.#parent(request, context) : this.#parent;
      checkReturnedParent(parent, this.#caller);
      const { scope } = this.#openScope(active, parent);
      if (register) await active.run(() => register(scope, request));
      if (start && !active.isFinished) await active.run(() => startServices(scope));
      active.throwIfDisconnected();
      return active;
    } catch (error) {
      throw failureOf(active, error);
    }
  }

  #openScope(active: ActiveRequest, parent: IContainer): ActiveRequest {
    active.throwIfDisconnected();
    active.open(parent.createScope(this.#tags));
    return active;
  }

  /**
   * Resolves when no request scope is open.
   *
   * @param options - how long to wait. Default: 10 s
   * @throws `HttpError` `AMBIT_HTTP_DISPOSE_TIMEOUT`: scopes are still open after `timeoutMs`; `AMBIT_HTTP_OPTION`: that is no number
   */
  drain(options?: DrainOptions): Promise<void> {
    return this.#requests.drain(options);
  }
}

function startServices(scope: IContainer): Promise<void> {
  const { start } = scope as { start?: () => Promise<void> };
  if (start) return start.call(scope);
  throw new HttpError('AMBIT_HTTP_OPTION', 'start: true needs a container that has a method start()');
}

/** What fails once the client has left, fails because the scope was disposed. */
function failureOf(active: ActiveRequest, error: unknown): unknown {
  active.finish(error);
  return active.disconnectReason ?? error;
}
