import { type IContainer, runInScope } from '@ambit/container';
import { HttpError } from './errors.js';

/** The same symbol in every copy of this package, so that copies in one tree find each other's requests. */
const ACTIVE_REQUEST = Symbol.for('@ambit/fetch');

interface OfRequest {
  [ACTIVE_REQUEST]?: ActiveRequest;
}

/** What opens active requests: one for all requests of a handler, so that a request costs few objects. */
export interface RequestObserver {
  /** Whether the scope is `currentScope()` for all that the request causes. */
  readonly isCurrent: boolean;
  onDisposeError(error: unknown, request: unknown): void;
  /** Called once for each request, when its scope has been disposed. */
  onDisposed(): void;
}

/** What knows the client of a request, and keeps the platform running for its disposal. */
export interface RequestClient {
  /** Calls `active.leave()` when the client leaves before it has the whole response. */
  watch(active: ActiveRequest): void;
  /** The host has a limit of its own for requests in progress. */
  readonly isAdmitted?: boolean;
  /** Keeps the platform running until the promise, which never rejects, has settled. */
  readonly waitUntil?: ((disposing: Promise<void>) => void) | undefined;
}

/**
 * One request, from the opening of its scope until that is disposed. It finishes once: with its response body, with the
 * failure of its handler, or when the client leaves, whichever comes first.
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

  constructor(observer: RequestObserver, client: RequestClient, request: unknown) {
    this.#observer = observer;
    this.#client = client;
    this.#request = request;
  }

  /** The request whose scope this is, or a scope opened by another copy of this package. */
  static of(scope: IContainer): ActiveRequest | undefined {
    return (scope as OfRequest)[ACTIVE_REQUEST];
  }

  /** Calls `leave()` when the signal aborts. */
  watch(signal: AbortSignal): void {
    if (signal.aborted) return this.leave();
    this.#clientSignal = signal;
    signal.addEventListener('abort', this);
  }

  /** Takes over the scope, of a request that has not finished. */
  open(scope: IContainer): void {
    this.#scope = scope;
    (scope as OfRequest)[ACTIVE_REQUEST] = this;
    scope.register('IRequestSignal', () => this.signal);
  }

  get scope(): IContainer {
    return this.#scope as IContainer;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Why the signal has aborted. */
  get disconnectReason(): HttpError | undefined {
    return this.#disconnectReason;
  }

  /** Throws AMBIT_HTTP_CLIENT_GONE where the client has left. */
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

  /** Calls `work` with the scope as the current one, where the application asked for that. */
  run<T>(work: () => T, scope: IContainer = this.scope): T {
    return this.#observer.isCurrent ? runInScope(scope, work) : work();
  }

  /**
   * Calls `work` as `run()` does. Settles as that does, but rejects when the client leaves: the work may never settle, and
   * servers that shut down wait for their handlers.
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
    const reason = new HttpError('AMBIT_HTTP_CLIENT_GONE');
    this.#disconnectReason = reason;
    this.#abort?.abort(reason);
    this.finish(reason);
    this.onDisconnect?.(reason);
  }

  /** Rolls back what is still open, for this reason, then disposes the scope. A second call changes nothing. */
  finish(reason?: unknown): void {
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
      await this.#scope?.dispose();
    } catch (error) {
      this.#observer.onDisposeError(error, this.#request);
    } finally {
      this.#observer.onDisposed();
    }
  }
}
