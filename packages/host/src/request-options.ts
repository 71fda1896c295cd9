import type { IContainer } from '@ambit/container';
import { checkFunctions, invalidOption, shown } from './options.js';

declare module '@ambit/container' {
  interface ServiceMap {
    /** Aborts when the client has disconnected before it had the whole response. In every request scope. */
    IRequestSignal: AbortSignal;
  }
}

/** The scope around the request's own: the application container, or what a function of the request returns. */
export type ParentScope<Request, Context extends unknown[] = []> =
  | IContainer
  | ((request: Request, ...context: Context) => IContainer | Promise<IContainer>);

/** How the scope of a request is opened; the same on every host. */
export interface RequestOptions<Request> {
  /** The tags of the request scope. Default `['request']`. */
  readonly tags?: readonly string[];
  /** Binds data of the request in its scope, before anything is resolved from it. It may be async. */
  readonly register?: (scope: IContainer, request: Request) => unknown;
  /** Whether `onStart` of request-scoped services runs before the handler. A failure is the request's. Default false. */
  readonly start?: boolean;
  /** Whether the scope is `currentScope()` for everything that the request causes. Default false. */
  readonly current?: boolean;
}

/**
 * Refuses what is no container, and no function.
 *
 * @param parent - what the application passed
 * @param caller - what the message names, such as `middleware()`
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: it is something else
 *
 * @example
 * ```ts
 * import { checkParent, type ParentScope } from '@ambit/host';
 *
 * function middleware(container: ParentScope<Request>) {
 *   checkParent(container, 'middleware()');
 * }
 * ```
 */
export function checkParent(parent: unknown, caller: string): void {
  if (typeof parent === 'function' || isContainer(parent)) return;
  throw invalidOption(
    `${caller} needs the application container, which has a method createScope(), or a function of the request that returns a scope, not ${shown(parent)}`,
  );
}

/**
 * Refuses what the application's function of a request returned, unless it is a container.
 *
 * @param parent - what it returned
 * @param caller - what the message names, such as `middleware()`
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: it is something else
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { checkReturnedParent } from '@ambit/host';
 *
 * async function parentOf(request: Request, find: (request: Request) => Promise<IContainer>): Promise<IContainer> {
 *   const parent = await find(request);
 *   checkReturnedParent(parent, 'middleware()');
 *   return parent;
 * }
 * ```
 */
export function checkReturnedParent(parent: unknown, caller: string): void {
  if (isContainer(parent)) return;
  throw invalidOption(`the container function of ${caller} must return a container or a scope, not ${shown(parent)}`);
}

/**
 * Refuses invalid options of request scopes when the application starts, and not at the first request.
 *
 * @param options - the options of the caller
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: one of them is invalid
 *
 * @example
 * ```ts
 * import { checkRequestOptions, type RequestOptions } from '@ambit/host';
 *
 * function middleware(options: RequestOptions<Request>) {
 *   checkRequestOptions(options);
 * }
 * ```
 */
export function checkRequestOptions<Request>(options: RequestOptions<Request>): void {
  const { tags } = options;
  if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')))
    throw invalidOption(`tags must be a list of strings, not ${shown(tags)}`);
  checkFunctions(options, 'register');
  for (const name of ['start', 'current'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'boolean')
      throw invalidOption(`${name} must be true or false, not ${shown(value)}`);
  }
}

function isContainer(value: unknown): boolean {
  return typeof (Object(value) as { createScope?: unknown }).createScope === 'function';
}
