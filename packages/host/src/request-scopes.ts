import type { IContainer } from '@ambit/container';
import { ActiveRequest, type RequestClient, type RequestObserver } from './active-request.js';
import { HttpError, report } from './errors.js';
import {
  checkCount,
  checkFunctions,
  checkParent,
  checkRequestOptions,
  checkReturnedParent,
  checkTimes,
  invalidOption,
  type ParentScope,
  type RequestOptions,
} from './options.js';

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

/** How scopes are opened, how many requests are taken on, and who is notified of a disposal that failed. */
export interface RequestScopesOptions<Q = Request> extends RequestOptions<Q> {
  /** How many requests may be in progress. A further one fails with `AMBIT_HTTP_OVERLOADED`. Default: no limit. */
  readonly maxRequests?: number;
  /** Requests that are never refused, such as the liveness probe. Default: none. */
  readonly isEssential?: (request: Q) => boolean;
  /** Called when a request scope failed to dispose. Default: `console.error`. */
  readonly onDisposeError?: (error: unknown, request: Q) => unknown;
}

function checkOptions<Q>(options: RequestScopesOptions<Q>): void {
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
 * import { RequestScopes } from '@ambit/host';
 *
 * const scopes = new RequestScopes(new Container({ tags: ['application'] }), {}, 'myMiddleware()');
 *
 * async function myMiddleware(request: Request, next: (scope: object) => Promise<Response>): Promise<Response> {
 *   const active = await scopes.open(request, undefined, { watch: (opened) => opened.watch(request.signal) });
 *   try {
 *     return await next(active.scope);
 *   } finally {
 *     active.finish();
 *   }
 * }
 * ```
 */
export class RequestScopes<Q = Request, C = unknown> {
  readonly #parent: ParentScope<Q, [context: C]>;
  readonly #options: RequestScopesOptions<Q>;
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
  constructor(parent: ParentScope<Q, [context: C]>, options: RequestScopesOptions<Q>, caller: string) {
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
    const active = new ActiveRequest(this.#observer, request, client);
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
      if (start && !active.isFinished) await active.run(() => startServices(scope, this.#caller));
      active.throwIfDisconnected();
      return active;
    } catch (error) {
      throw failureOf(active, error);
    }
  }

  #openScope(active: ActiveRequest, parent: IContainer): ActiveRequest {
    active.throwIfDisconnected();
    active.openScope(parent, this.#tags);
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

/**
 * Runs `onStart` of the services of a scope.
 *
 * @param scope - the request scope
 * @param caller - what the error names, such as `middleware()`
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: the container has no method `start()`
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { startServices } from '@ambit/host';
 *
 * const ready = (scope: IContainer): Promise<void> => startServices(scope, 'middleware()');
 * ```
 */
export function startServices(scope: IContainer, caller: string): Promise<void> {
  const { start } = scope as { start?: () => Promise<void> };
  if (start) return start.call(scope);
  throw invalidOption(`start: true of ${caller} needs a container that has a method start()`);
}

/** What fails once the client has left, fails because the scope was disposed. */
function failureOf(active: ActiveRequest, error: unknown): unknown {
  active.finish(error);
  return active.disconnectReason ?? error;
}
