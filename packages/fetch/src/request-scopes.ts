import type { IContainer } from '@ambit/container';
import { ActiveRequest } from './active-request.js';
import { HttpError } from './errors.js';
import { type DrainOptions, OpenRequests } from './open-requests.js';
import { checkOptions, checkParent, type ParentScope, type RequestOptions } from './options.js';
import { report } from './report.js';

/** What knows the client of a request, and keeps the platform running for its disposal. */
export interface RequestClient {
  /** Calls `active.leave()` when the client leaves before it has the whole response. */
  watch(active: ActiveRequest): void;
  /** The host has a limit of its own for requests in progress. */
  readonly isAdmitted?: boolean;
  readonly waitUntil?: ((disposing: Promise<void>) => void) | undefined;
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
  readonly #tags: string[];
  readonly #requests: OpenRequests;

  /**
   * @param caller what the errors of invalid arguments name
   * @throws HttpError AMBIT_HTTP_OPTION
   */
  constructor(parent: ParentScope<Q, C>, options: RequestOptions<Q>, caller: string) {
    checkParent(parent, caller);
    checkOptions(options);
    this.#parent = parent;
    this.#options = options;
    this.#tags = [...(options.tags ?? REQUEST_TAGS)];
    this.#requests = new OpenRequests(options.maxRequests);
  }

  /** How many request scopes are not disposed yet. */
  get openRequests(): number {
    return this.#requests.count;
  }

  /**
   * Opens the scope of a request. When this rejects, the scope is being disposed already; otherwise the caller finishes the
   * request.
   *
   * @throws HttpError AMBIT_HTTP_OVERLOADED, AMBIT_HTTP_CLIENT_GONE, and whatever `register` or `onStart` throws
   */
  async open(request: Q, context: C, client: RequestClient): Promise<ActiveRequest> {
    const { isEssential, register, start, current, onDisposeError } = this.#options;
    this.#requests.enter(() => client.isAdmitted ?? isEssential?.(request) ?? false);
    const active = new ActiveRequest({
      isCurrent: current ?? false,
      onDisposeError: (error) => void report(onDisposeError && ((e) => onDisposeError(e, request)), error),
      onDisposed: () => this.#requests.leave(),
      waitUntil: client.waitUntil,
    });
    try {
      client.watch(active);
      const parent = typeof this.#parent === 'function' ? await this.#parent(request, context) : this.#parent;
      active.throwIfGone();
      const scope = parent.createScope({ tags: this.#tags });
      active.open(scope);
      if (register) await active.run(() => register(scope, request));
      if (start && !active.isFinished) await active.run(() => startServices(scope));
    } catch (error) {
      active.finish(error);
      // What failed then, failed because the scope was disposed.
      active.throwIfGone();
      throw error;
    }
    active.throwIfGone();
    return active;
  }

  /**
   * Resolves when no request scope is open.
   *
   * @throws HttpError AMBIT_HTTP_DISPOSE_TIMEOUT after `timeoutMs`
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
