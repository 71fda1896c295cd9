import type { IContainer } from '@ambit/container';
import { type Transaction, TransactionError, type TransactionOptions } from '@ambit/transaction';
import { publishResponse, TransactionSettings, TransactionStart } from '@ambit/transaction/host';
import { ActiveRequest } from './active-request.js';
import { HttpError } from './errors.js';
import { checkFunctions } from './options.js';

/** The options of the transaction of a handler, and when its response rolls back. */
export interface RequestTransactionOptions<Q = Request> extends Omit<
  TransactionOptions,
  'onError' | 'signal' | 'readOnly'
> {
  /** Also `'safe-methods'`: requests with GET, HEAD, OPTIONS and QUERY (RFC 10008, Node 22 and newer) begin read-only. */
  readonly readOnly?: boolean | 'safe-methods';
  /** Called with failures that change no outcome. Default: a process warning. */
  readonly onError?: (error: TransactionError, request: Q) => void;
  /** True if a response of this status rolls back. Default: as the application says, or one of 500 or more does. */
  readonly rollbackOn?: (status: number) => boolean;
}

/** The checked options of the transaction of one request, and when its response rolls back. */
export interface PreparedTransactionOptions extends Pick<RequestTransactionOptions<never>, 'rollbackOn'> {
  /** The options, checked. */
  readonly settings: TransactionSettings;
}

/**
 * Checks the options of transactions once, for all requests: `onError` of the application is called with the request.
 *
 * @param options - the options of the application
 * @returns a function that gives the options for one request
 * @throws `HttpError` `AMBIT_OPTION`: `onError` or `rollbackOn` is no function. `TransactionError` `AMBIT_OPTION`: another
 *   option is invalid
 */
export function prepareTransactionOptions<Q>(
  options: RequestTransactionOptions<Q>,
): (request: Q) => PreparedTransactionOptions {
  const { readOnly, ...others } = options;
  if (readOnly !== 'safe-methods') return prepareAlike({ ...others, ...(readOnly !== undefined && { readOnly }) });
  const reads = prepareAlike({ ...others, readOnly: true });
  const writes = prepareAlike(others);
  return (request) => (hasSafeMethod(request) ? reads : writes)(request);
}

const SAFE_METHODS: ReadonlySet<unknown> = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY']);

/** The contexts of Hono and h3 have the request as `req`. */
function hasSafeMethod(request: unknown): boolean {
  const { method, req } = request as { readonly method?: string; readonly req?: { readonly method: string } };
  return SAFE_METHODS.has(method ?? req?.method);
}

function prepareAlike<Q>(
  options: Omit<RequestTransactionOptions<Q>, 'readOnly'> & Pick<TransactionOptions, 'readOnly'>,
): (request: Q) => PreparedTransactionOptions {
  checkFunctions(options, 'onError', 'rollbackOn');
  const { onError, rollbackOn, ...others } = options;
  const settings = TransactionSettings.of(others);
  const own = rollbackOn && { rollbackOn };
  const same = { settings, ...own };
  if (!onError) return () => same;
  return (request) => ({ settings: settings.with({ onError: (error) => onError(error, request) }), ...own });
}

/**
 * Says whether a handler has still to read the body of a request, which may take its client a while.
 *
 * @param request - a request of the Fetch standard
 * @returns false for GET and HEAD, and once its body is read
 */
export function hasUnreadBody(request: Request): boolean {
  return request.method !== 'GET' && request.method !== 'HEAD' && request.body !== null && !request.bodyUsed;
}

/** A rollback for these does not wait for the handler; the handler may know of every other error. */
const ABANDONED: ReadonlySet<string> = new Set(['AMBIT_TX_ABORTED', 'AMBIT_TX_TIMEOUT']);

/**
 * The transaction of one request, from its request for a connection until it has committed or was rolled back.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { RequestTransaction, prepareTransactionOptions } from '@ambit/http/host';
 *
 * const prepare = prepareTransactionOptions<Request>({ isolation: 'serializable' });
 * async function serve(request: Request, scope: IContainer, handler: (scope: IContainer) => Promise<Response>) {
 *   const transaction = new RequestTransaction(scope, prepare(request), () => request.signal);
 *   await transaction.begun;
 *   try {
 *     const response = await transaction.run(() => handler(transaction.scope));
 *     await transaction.complete(response.status);
 *     return response;
 *   } catch (error) {
 *     await transaction.rollback(error);
 *     throw error;
 *   }
 * }
 * ```
 */
export class RequestTransaction {
  /** True if a response of this status rolls back. */
  readonly rollbackOn: (status: number) => boolean;
  /** Set by a host whose error handlers respond at the time limit: what they respond is sent as it is. */
  timeout: TransactionError | undefined = undefined;
  /** The commit in progress, also where nobody awaits it. */
  committing: Promise<void> | undefined = undefined;
  /** The request; undefined where its scope was opened by other means than ours. */
  readonly active: ActiveRequest | undefined;
  /** Resolves when BEGIN has succeeded. Rejects with nothing left behind. */
  readonly begun: Promise<Transaction>;
  /** Undefined until BEGIN has succeeded. */
  current: Transaction | undefined = undefined;
  /** True when `run()` has rejected before its work was done. */
  isAbandoned = false;
  readonly #requestScope: IContainer;
  readonly #start: TransactionStart;

  /**
   * Asks for a connection at once, unless a part of the body is still to come: then with the first statement, so that a slow client holds none.
   *
   * @param requestScope - the scope of the request
   * @param prepared - its options, and which responses roll back
   * @param signal - called for the signal of a request whose scope was opened by other means than ours
   * @param isBodyToCome - whether a part of the body is still to come
   */
  constructor(
    requestScope: IContainer,
    prepared: PreparedTransactionOptions,
    signal?: () => AbortSignal,
    isBodyToCome = false,
  ) {
    const { settings, rollbackOn } = prepared;
    this.#requestScope = requestScope;
    this.active = ActiveRequest.of(requestScope);
    this.rollbackOn = rollbackOn ?? this.active?.scopes.rollbackOn ?? isServerError;
    // A scope that the application opened by other means than ours does not know when the client leaves.
    const own = this.active || !signal ? settings : settings.with({ signal: signal() });
    this.#start = new TransactionStart(requestScope, own, { guardsParent: true, mayBeginLate: isBodyToCome });
    if (this.active) this.active.transaction = this;
    this.begun = this.#start.begun;
    this.begun.then(
      (transaction) => (this.current = transaction),
      () => this.#forget(),
    );
  }

  /** The transaction scope, once BEGIN has succeeded. */
  get scope(): IContainer {
    return (this.current as Transaction).scope;
  }

  /**
   * Settles as `work` does, but rejects at the time limit, or when the client leaves: the work may never settle.
   *
   * @param work - the handler
   * @returns what the work resolves to
   * @throws what the work rejects with; `TransactionError` `AMBIT_TX_TIMEOUT`: the time limit has passed; `AMBIT_TX_ABORTED`: the
   *   client left
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    const { scope } = this;
    return new Promise((resolve, reject) => {
      this.current?.onLost((error) => {
        if (!ABANDONED.has(error.code)) return;
        this.isAbandoned = true;
        reject(error);
      });
      const working = this.active ? this.active.run(work, scope) : work();
      working.then(resolve, reject);
    });
  }

  /**
   * Commits, or rolls back for a response of this status.
   *
   * @param status - the status of the response
   * @throws `TransactionError`: COMMIT failed, so a success must not be reported
   */
  async complete(status: number): Promise<void> {
    if (this.rollbackOn(status)) await this.rollbackFor(status);
    else await this.commitFor(status);
  }

  /**
   * Commits before a response of this status is sent.
   *
   * @param status - the status of the response
   * @throws `TransactionError`: COMMIT failed, unless the response says already that nothing was committed
   */
  commitFor(status: number): Promise<void> {
    publishResponse(this.#requestScope, status);
    const committing = this.commit();
    if (status < 400) return committing;
    return committing.catch((error: unknown) => {
      if (error !== this.timeout && !isKnownBefore(error)) throw error;
    });
  }

  /**
   * Commits, as soon as it has begun.
   *
   * @throws `TransactionError`: COMMIT failed
   */
  commit(): Promise<void> {
    const { current, begun } = this;
    // At once where that is possible: what comes next must find the commit begun.
    const committing = current ? current.commit() : begun.then((late) => late.commit());
    this.committing = committing.then(
      () => this.#forget(),
      (error: unknown) => {
        this.#forget();
        throw error;
      },
    );
    return this.committing;
  }

  /**
   * Rolls back. Never rejects, and undoes no commit that was already sent.
   *
   * @param reason - why; the statements that are refused from now on have it as their cause
   */
  async rollback(reason?: unknown): Promise<void> {
    const { current } = this;
    if (current && reason instanceof HttpError && reason.code === 'AMBIT_HTTP_CLIENT_DISCONNECTED')
      await current.rollback(new TransactionError('AMBIT_TX_ABORTED', 'The client left', { cause: reason }));
    else await (current ?? this.#start).rollback(reason);
    this.#forget();
  }

  /**
   * Rolls back before a response of this status is sent. Never rejects.
   *
   * @param status - the status of the response
   * @param reason - why, as of `rollback()`
   */
  async rollbackFor(status: number, reason?: unknown): Promise<void> {
    await this.rollback(reason);
    publishResponse(this.#requestScope, status);
  }

  #forget(): void {
    if (this.active?.transaction === this) this.active.transaction = undefined;
  }
}

/** Such a response means a failure, which a layer between may have caught. */
function isServerError(status: number): boolean {
  return status >= 500;
}

const KNOWN_BEFORE: ReadonlySet<string> = new Set(['AMBIT_TX_FINISHED', 'AMBIT_TX_FAILED']);

/** True if the handler could know before COMMIT that nothing will be committed: then its error response is true. */
function isKnownBefore(error: unknown): boolean {
  return error instanceof TransactionError && KNOWN_BEFORE.has(error.code);
}

/**
 * The scope of the open transaction, for `requireTransactionScope()` of a host.
 *
 * @param owner - the request, or what has its properties
 * @param advice - how a transaction is begun on this host
 * @returns the scope tagged `transaction`
 * @throws `HttpError` `AMBIT_HTTP_NO_TRANSACTION`: the request has no open transaction
 */
export function transactionScopeOf(
  owner: { readonly transactionScope?: IContainer | undefined },
  advice: string,
): IContainer {
  if (owner.transactionScope) return owner.transactionScope;
  throw new HttpError('AMBIT_HTTP_NO_TRANSACTION', advice);
}

/** These headers describe the body of one response, and not of the one that replaces it. */
const REPRESENTATION_HEADERS = [
  'accept-ranges',
  'cache-control',
  'content-digest',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'digest',
  'etag',
  'expires',
  'last-modified',
  'location',
  'repr-digest',
  'trailer',
  'transfer-encoding',
];

/**
 * Removes the headers that are true of one response only, to make room for another. What belongs to the connection or to every response
 * of the application stays.
 *
 * @param response - the response, of which nothing was sent
 */
export function clearRepresentation(response: { removeHeader(name: string): unknown }): void {
  for (const name of REPRESENTATION_HEADERS) response.removeHeader(name);
  const { [TRAILERS]: trailers, removeTrailer } = response as Partial<FollowedReply>;
  for (const name of trailers ?? []) removeTrailer?.call(response, name);
}

const TRAILERS = Symbol('ambit.trailers');

interface TrailedReply {
  trailer(name: string, make: never): unknown;
  removeTrailer(name: string): unknown;
}

interface FollowedReply extends TrailedReply {
  [TRAILERS]: Set<string>;
}

/**
 * Notes the trailers that are set from now on, because Fastify lists them nowhere: {@link clearRepresentation} removes them. They are computed
 * from one body, and an error that takes its place would be framed by its length and in chunks at once.
 *
 * @param reply - a reply of Fastify
 */
export function followTrailers(reply: TrailedReply): void {
  const trailers = new Set<string>();
  const trailer = reply.trailer.bind(reply);
  (reply as FollowedReply)[TRAILERS] = trailers;
  reply.trailer = (name, make) => {
    trailers.add(name);
    return trailer(name, make);
  };
}
