import type { HttpServer, Provider } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

/*
 * The parts of Nest 10.4, 11.2 and 12.5 beside its public interface that this package uses; no other file does.
 *
 * | field                                                | why nothing public does it                                                          | where it is missing                                        |
 * | ---------------------------------------------------- | ----------------------------------------------------------------------------------- | ---------------------------------------------------------- |
 * | `reply()`, `render()`, `redirect()` of an HTTP adapter | the router awaits them: what they throw goes to the exception filters of the route | the application does not start                             |
 * | `setErrorHandler()` of an HTTP adapter               | it is called with what a handler passed on                                          | the application does not start                             |
 * | the metadata of decorators                           | a handler is known from another method by them                                      | `@Transactional()` on a handler commits with its method, before the response |
 * | `modules.set()`, `providers`, `exports`              | a module that is loaded later may name keys that no provider of ours has            | NestJS does not find them when such a module is loaded     |
 * | `raw` of requests and responses of Fastify           | the response of `node:http` is held back                                            | the request has no scope: `AMBIT_NO_SCOPE`                  |
 */

const HTTP_ROUTE = 'path';
const SSE = '__sse__';
/** The contexts of microservices and gateways. */
const MESSAGES = ['microservices:pattern', 'websockets:message_mapping', 'message'];

/** The kinds of calls that Nest makes. */
export type HandlerKind = 'http' | 'sse' | 'message';

/** Undefined for a method that is no handler. */
export function handlerKindOf(method: object): HandlerKind | undefined {
  if (Reflect.hasMetadata(SSE, method)) return 'sse';
  if (Reflect.hasMetadata(HTTP_ROUTE, method)) return 'http';
  return MESSAGES.some((key) => Reflect.hasMetadata(key, method)) ? 'message' : undefined;
}

/** Names a method that takes the place of a decorated one, and gives it what other decorators have said of that. */
export function copyMetadata(method: object, decorated: object, name: string | symbol): void {
  Object.defineProperty(Object.assign(decorated, method), 'name', { value: name });
  for (const key of Reflect.getMetadataKeys(method))
    Reflect.defineMetadata(key, Reflect.getMetadata(key, method), decorated);
}

/** The methods of a class, also those that it inherits. */
export function methodNames(prototype: object): string[] {
  const names = new Set<string>();
  for (let at = prototype; at && at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === 'function' && name !== 'constructor') names.add(name);
  }
  return [...names];
}

/** The request or response of Node below that of the platform. */
export function rawOf<T extends object>(ofPlatform: T | { readonly raw: T }): T {
  return (ofPlatform as { readonly raw?: T }).raw ?? (ofPlatform as T);
}

/** A route whose response the adapter does not send by itself. */
export interface Replying {
  /** Called with what sends the response, and its body: the router awaits what this returns. */
  reply(send: () => unknown, body: unknown): unknown;
  /** Called with an error that a handler passed on, and what responds to it. */
  handleError(error: unknown, handle: () => unknown): unknown;
}

type Send = (response: object, ...rest: unknown[]) => unknown;
type HandleError = (error: unknown, request: object, response: object, next: unknown) => unknown;

/** From now on the adapter responds by way of the route of the response, where there is one. */
export function observeReplies(adapter: HttpServer, routeOf: (response: object) => Replying | undefined): void {
  const methods = adapter as unknown as Record<'reply' | 'render' | 'redirect', Send> & {
    setErrorHandler: (handler: HandleError, ...rest: unknown[]) => unknown;
  };
  for (const name of ['reply', 'render', 'redirect'] as const) {
    const send = methods[name];
    methods[name] = function (response, ...rest) {
      const route = routeOf(rawOf(response));
      const reply = (): unknown => send.call(this, response, ...rest);
      return route ? route.reply(reply, rest[0]) : reply();
    };
  }
  const { setErrorHandler } = methods;
  methods.setErrorHandler = function (handler, ...rest) {
    const observed: HandleError = (error, request, response, next) => {
      const handle = (): unknown => handler(error, request, response, next);
      const route = routeOf(rawOf(response));
      return route ? route.handleError(error, handle) : handle();
    };
    return setErrorHandler.call(this, observed, ...rest);
  };
}

/** A module of Nest, as its injector keeps it. */
interface ModuleOfNest {
  readonly metatype: unknown;
  readonly providers: ReadonlyMap<unknown, unknown>;
  readonly exports: Set<unknown>;
  addProvider(provider: Provider): unknown;
}

/** From now on each module that Nest adds finds these providers in the one of `owner`, which exports them to all. */
export function provideToLaterModules(modules: ModulesContainer, owner: unknown, provided: () => Provider[]): void {
  const set = modules.set.bind(modules);
  modules.set = (token, added) => {
    set(token, added);
    const module = [...modules.values()].find(({ metatype }) => metatype === owner) as ModuleOfNest | undefined;
    for (const provider of module ? provided() : []) {
      const { provide } = provider as { readonly provide: unknown };
      if (module?.providers.has(provide)) continue;
      module?.addProvider(provider);
      module?.exports.add(provide);
    }
    return modules;
  };
}
