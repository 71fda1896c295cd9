import type { IContainer } from '@ambit/container';
import { HttpError } from './errors.js';

/**
 * Refuses what is no number of milliseconds; `Infinity` is no limit, and an option that is not given is no mistake.
 *
 * @param options - the options of the caller
 * @param names - those that are times
 * @throws `HttpError` `AMBIT_OPTION`: one of them is no number from 0 on
 */
export function checkTimes<T extends object>(options: T, ...names: (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && !(typeof value === 'number' && value >= 0)) {
      throw invalidOption(`${name} must be a number of milliseconds, not ${shown(value)}`);
    }
  }
}

/**
 * Refuses what is no whole number from 1 on; `Infinity` is no limit.
 *
 * @param name - the option
 * @param value - its value
 * @throws `HttpError` `AMBIT_OPTION`: it is something else
 */
export function checkCount(name: string, value: number): void {
  if (value >= 1 && (Number.isInteger(value) || value === Infinity)) return;
  throw invalidOption(`${name} must be a whole number from 1 on, not ${String(value)}`);
}

/**
 * Refuses what is no function; an option that is not given is no mistake.
 *
 * @param options - the options of the caller
 * @param names - those that are functions
 * @throws `HttpError` `AMBIT_OPTION`: one of them is something else
 */
export function checkFunctions<T extends object>(options: T, ...names: (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'function') {
      throw invalidOption(`${name} must be a function, not ${shown(value)}`);
    }
  }
}

/**
 * Refuses what is no container, such as a missing argument.
 *
 * @param container - what the application passed
 * @param method - the method that is needed of it
 * @param caller - what the message names, such as `middleware()`
 * @throws `HttpError` `AMBIT_OPTION`: it has no such method
 */
export function checkContainer(container: object | undefined, method: string, caller: string): void {
  if (typeof (container as Record<string, unknown> | undefined)?.[method] === 'function') return;
  throw invalidOption(
    `${caller} needs the application container, which has a method ${method}(), not ${shown(container)}`,
  );
}

/**
 * Makes the error for an invalid option.
 *
 * @param detail - names the option, and what it accepts
 * @returns the `HttpError` `AMBIT_OPTION`, to throw
 */
export function invalidOption(detail: string): HttpError {
  return new HttpError('AMBIT_OPTION', detail);
}

/** A value as messages name it: of what holds others, only that. */
function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

declare module '@ambit/container' {
  interface ServiceMap {
    /** Aborts when the client has disconnected before it had the whole response. In every request scope. */
    IRequestSignal: AbortSignal;
    /** Aborts when the server begins to shut down: endless responses end then. In every request scope. */
    IShutdownSignal: AbortSignal;
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
  /** True if `onStart` of request-scoped services runs before the handler. A failure is the request's. Default false. */
  readonly start?: boolean;
  /** True if the scope is `currentScope()` for everything that the request causes. Default false. */
  readonly current?: boolean;
  /**
   * True if a response of this status rolls back the transaction of a request, where its route does not say so itself. Default: one of
   * 500 or more does. What a handler throws rolls back whatever its status.
   */
  readonly rollbackOn?: (status: number) => boolean;
}

/** Refuses what is no container, and no function. */
export function checkParent(parent: unknown, caller: string): void {
  if (typeof parent === 'function' || isContainer(parent)) return;
  throw invalidOption(
    `${caller} needs the application container, which has a method createScope(), or a function of the request that returns a scope, not ${shown(parent)}`,
  );
}

/** Refuses what the application's function of a request returned, unless it is a container. */
export function checkReturnedParent(parent: unknown, caller: string): void {
  if (isContainer(parent)) return;
  throw invalidOption(`the container function of ${caller} must return a container or a scope, not ${shown(parent)}`);
}

/** Refuses invalid options of request scopes when the application starts, and not at the first request. */
export function checkRequestOptions<Request>(options: RequestOptions<Request>): void {
  const { tags } = options;
  if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')))
    throw invalidOption(`tags must be a list of strings, not ${shown(tags)}`);
  checkFunctions(options, 'register', 'rollbackOn');
  for (const name of ['start', 'current'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'boolean')
      throw invalidOption(`${name} must be true or false, not ${shown(value)}`);
  }
}

function isContainer(value: unknown): boolean {
  return typeof (Object(value) as { createScope?: unknown }).createScope === 'function';
}
