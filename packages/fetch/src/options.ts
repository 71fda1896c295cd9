import type { IContainer } from '@ambit/container';
import { HttpError } from './errors.js';

declare module '@ambit/container' {
  interface ServiceMap {
    /** Aborts when the client leaves before it has the whole response. In every request scope. */
    IRequestSignal: AbortSignal;
  }
}

/** The scope around the request's own: the application container, or what a function of the request gives. */
export type ParentScope<Q, C> = IContainer | ((request: Q, context: C) => IContainer | Promise<IContainer>);

/** The same on every host. */
export interface RequestOptions<Q = Request> {
  /** The tags of the request scope. Default `['request']`. */
  readonly tags?: readonly string[];
  /** Binds data of the request in its scope, before anything is resolved from it. It may be async. */
  readonly register?: (scope: IContainer, request: Q) => unknown;
  /** Whether `onStart` of request-scoped services runs before the handler. A failure is the request's. Default false. */
  readonly start?: boolean;
  /** Whether the scope is `currentScope()` for everything that the request causes. Default false. */
  readonly current?: boolean;
  /** How many requests may be in progress. A further one fails with `AMBIT_HTTP_OVERLOADED`. Default: no limit. */
  readonly maxRequests?: number;
  /** Requests that are never refused, such as the liveness probe. Default: none. */
  readonly isEssential?: (request: Q) => boolean;
  /** Called when a request scope failed to dispose. Default: `console.error`. */
  readonly onDisposeError?: (error: unknown, request: Q) => unknown;
}

export function checkParent(parent: unknown, caller: string): void {
  if (typeof parent === 'function' || isContainer(parent)) return;
  throw invalid(`${caller} needs the application container, or a function of the request that gives a scope`);
}

/** Refuses what the application's function of a request returned. */
export function checkReturned(parent: unknown): void {
  if (!isContainer(parent)) throw invalid(`the container function must return a scope, not ${String(parent)}`);
}

function isContainer(value: unknown): boolean {
  return typeof (Object(value) as { createScope?: unknown }).createScope === 'function';
}

export function checkOptions<Q>(options: RequestOptions<Q>): void {
  const { tags, maxRequests } = options;
  if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')))
    throw invalid('tags must be a list of strings');
  checkType(options, 'function', 'register', 'isEssential', 'onDisposeError');
  checkType(options, 'boolean', 'start', 'current');
  if (maxRequests !== undefined && !(maxRequests >= 1 && (Number.isInteger(maxRequests) || maxRequests === Infinity)))
    throw invalid(`maxRequests must be a whole number from 1 on, not ${String(maxRequests)}`);
}

/**
 * Refuses options of another type; an option that is not given is no mistake.
 *
 * @param options - the options of the caller
 * @param type - the type, as `typeof` says it
 * @param names - the options that have this type
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: one of them has another type
 *
 * @example
 * ```ts
 * import { checkType } from '@ambit/fetch/host';
 *
 * function middleware(options: { isEssential?: () => boolean; start?: boolean }) {
 *   checkType(options, 'function', 'isEssential');
 *   checkType(options, 'boolean', 'start');
 * }
 * ```
 */
export function checkType<T extends object>(options: T, type: string, ...names: (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== type)
      throw invalid(`${name} must be a ${type}, not ${value === null ? 'null' : `a ${typeof value}`}`);
  }
}

/** `Infinity` is no limit. */
export function checkTime(name: string, value: number | undefined): void {
  if (value === undefined || value >= 0) return;
  throw invalid(`${name} must be a number of milliseconds, not ${String(value)}`);
}

export function invalid(detail: string): HttpError {
  return new HttpError('AMBIT_HTTP_OPTION', detail);
}
