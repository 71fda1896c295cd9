import type { AbstractClass, Delivered, Key, Listed, ServiceMap } from '@ambit/container';
import type { Request, RequestHandler, Response } from 'express';
import { currentScopeOf, type ExpressRequest } from './request.js';

/** Names, and the keys of the services they stand for. */
export type Deps = Readonly<Record<string, Key>>;

/** The services that go by the names of `D`; `unknown` for a key that `ServiceMap` does not list. */
export type Services<D extends Deps> = { readonly [Name in keyof D]: Delivered<D[Name]> };

/**
 * The instance bound to the key, as seen from the scope of the open transaction behind `withTransaction()`, and from the
 * scope of the request everywhere else: before and after the transaction, and in error handlers.
 *
 * @param req - the request
 * @param key - what to resolve; with `strictKeys`, a string that `ServiceMap` does not list is a compile error
 * @returns the instance
 * @throws `HttpError` `AMBIT_HTTP_NO_REQUEST_SCOPE`: `containerMiddleware()` did not run. `ContainerError`, as `Container.resolve()`:
 *   the key cannot be resolved
 *
 * @example
 * ```ts
 * import type { Request } from 'express';
 *
 * const isDisconnected = (req: Request): boolean => resolve(req, 'IRequestSignal').aborted;
 * ```
 */
export function resolve<K extends keyof ServiceMap>(req: ExpressRequest, key: K): ServiceMap[K];
export function resolve<T>(req: ExpressRequest, key: AbstractClass<T>): T;
export function resolve<T = unknown, const K extends string | symbol = string | symbol>(
  req: ExpressRequest,
  key: Listed<K>,
): T;
export function resolve(req: ExpressRequest, key: Key): unknown {
  return currentScopeOf(req, 'resolve()').resolve(key as string);
}

/**
 * A handler that is called with its services, from the scope that `resolve()` would use. Whatever it throws, or rejects with, goes
 * to the error handler.
 *
 * @param deps - names, and the keys of the services, checked like that of `resolve()`
 * @param handler - is called with the services under these names
 * @returns a handler for Express
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import express from 'express';
 *
 * declare const container: IContainer;
 * const app = express();
 * app.use(containerMiddleware(container));
 * app.get('/alive', withDeps({ signal: 'IRequestSignal' }, (_req, res, { signal }) => {
 *   res.json({ alive: !signal.aborted });
 * }));
 * ```
 */
export function withDeps<const D extends Deps, P = Request['params']>(
  deps: { readonly [Name in keyof D]: Listed<D[Name]> },
  handler: (req: Request<P>, res: Response, services: Services<D>) => unknown,
): RequestHandler<P> {
  const entries = Object.entries<Key>(deps);
  return (req, res, next) => {
    const fail = (thrown: unknown): void => next(givenReason(thrown));
    try {
      const scope = currentScopeOf(req, 'withDeps()');
      const services = Object.fromEntries(entries.map(([name, key]) => [name, scope.resolve(key as string)]));
      const handling = handler(req, res, services as Services<D>);
      if (isPromiseLike(handling)) handling.then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  };
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** With nothing in its hand, `next()` would go on to the next handler. */
function givenReason(thrown: unknown): unknown {
  if (thrown) return thrown;
  return new Error('The handler failed, and gave no reason', { cause: thrown });
}
