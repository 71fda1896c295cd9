import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import {
  checkParent,
  checkRequestOptions,
  checkReturnedParent,
  invalidOption,
  type ParentScope,
  type RequestOptions,
} from '@ambit/host';
import { CurrentScope } from './current-scope.js';

/** A request that needs its scope. */
export interface ScopelessRequest {
  /** The request. */
  readonly req: IncomingMessage;
  /** Its response. */
  readonly res: ServerResponse;
  /** It needs no scope any more. */
  readonly isFinished: boolean;
  /**
   * Opens the request scope, and keeps it for disposal.
   *
   * @param parent - the scope around it
   * @param options - the tags of the scope
   * @returns the request scope
   */
  openScope(parent: IContainer, options: { tags: string[] }): IContainer;
}

/** Opens the scope of a request, then calls `done`, with the error where that failed. Where the request finishes meanwhile, never. */
export type ScopeOpener = (request: ScopelessRequest, done: (error?: unknown) => void) => void;

/** What the framework adds. */
export interface OpenerOptions<Request> extends RequestOptions<Request> {
  /** What the errors of invalid options name. */
  readonly caller: string;
  /** The request as the framework knows it. */
  readonly requestOf: (request: ScopelessRequest) => Request;
}

/**
 * How a host opens its request scopes. It is decided here, once, so that a request pays for no option that is not used.
 *
 * @param parent - the application container, or a function of the request that returns the scope above the request's
 * @param options - those of the application, and what the framework adds
 * @returns what `ActiveRequest.open()` calls for each request
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
  const prepare = async (request: ScopelessRequest): Promise<void> => {
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

function startServices(scope: IContainer, caller: string): Promise<void> {
  const { start } = scope as { start?: () => Promise<void> };
  if (start) return start.call(scope);
  throw invalidOption(`start: true of ${caller} needs a container that has a method start()`);
}
