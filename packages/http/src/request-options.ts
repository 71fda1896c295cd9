import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import type { IContainer } from '@ambit/container';
import { checkFunctions, invalidOption } from './options.js';

/** The scope around the request's own: the application container, or what a function of the request returns. */
export type ParentScope<Request = IncomingMessage> =
  | IContainer
  | ((request: Request) => IContainer | Promise<IContainer>);

/** How the scope of a request is opened; the same on every host. */
export interface RequestOptions<Request = IncomingMessage> {
  /** The tags of the request scope. Default `['request']`. */
  readonly tags?: readonly string[];
  /** Binds data of the request in its scope, before anything is resolved from it. It may be async. */
  readonly register?: (scope: IContainer, request: Request) => unknown;
  /** Whether `onStart` of request-scoped services runs before the handler. A failure is the request's. Default false. */
  readonly start?: boolean;
  /** Whether the scope is `currentScope()` for everything that the request causes. Default false. */
  readonly current?: boolean;
}

export function checkParent(parent: unknown, caller: string): void {
  if (typeof parent === 'function' || isContainer(parent)) return;
  throw invalidOption(
    `${caller} needs the application container, which has a method createScope(), or a function of the request that returns a scope, not ${inspect(parent, { depth: 0 })}`,
  );
}

/** Refuses what the application's function of a request returned. */
export function checkReturnedParent(parent: unknown, caller: string): void {
  if (isContainer(parent)) return;
  throw invalidOption(
    `the container function of ${caller} must return a container or a scope, not ${inspect(parent, { depth: 0 })}`,
  );
}

export function checkRequestOptions<Request>(options: RequestOptions<Request>): void {
  const { tags } = options;
  if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')))
    throw invalidOption(`tags must be a list of strings, not ${inspect(tags)}`);
  checkFunctions(options, 'register');
  for (const name of ['start', 'current'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'boolean')
      throw invalidOption(`${name} must be true or false, not ${inspect(value)}`);
  }
}

function isContainer(value: unknown): boolean {
  return typeof (Object(value) as { createScope?: unknown }).createScope === 'function';
}
