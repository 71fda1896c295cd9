import { ContainerError, type IContainer } from '@ambit/container';
import { inScope } from '@ambit/container/work';
import { invalidOption, type ParentScope } from '@ambit/http/host';
import { Inject } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { copyMetadata } from './nest-internals.js';
import { isUnitTest } from './unit-tests.js';

/** The container and the tags of the scopes of requests, messages and jobs. */
export interface ScopeSettings {
  readonly container: ParentScope<IncomingMessage>;
  readonly tags: readonly string[];
  readonly onDisposeError: (error: unknown) => unknown;
}

/** Opens a scope for work that is no HTTP request. It is the current one, and disposed when the work has settled. */
export async function inWorkScope<T>(
  { container, tags, onDisposeError }: ScopeSettings,
  work: (scope: IContainer, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (typeof container === 'function')
    throw invalidOption('AmbitModule has a container function of HTTP requests, so it opens no scopes for other work');
  return inScope(container, { tags, current: true, onError: onDisposeError }, work);
}

/** The token of {@link ScopeSettings}, and the property of a provider that has them. NestJS names it where it is missing. */
export const SCOPE_SETTINGS = Symbol('@InScope(), which needs AmbitModule.forRoot() in the root module');

const METHOD = Symbol.for('@ambit/nest/in-scope');

type Method = (this: { [SCOPE_SETTINGS]?: ScopeSettings }, ...args: unknown[]) => unknown;

/**
 * Gives every call of a method a scope of its own, with the tags of requests. It is the current one for all that the method causes, and
 * disposed when its promise has settled: for a cron job, the processor of a queue, a listener for events, a command, or a handler of a gateway.
 * `@Transactional()` stands below it.
 *
 * @returns the decorator of an asynchronous method of a provider
 * @throws `ContainerError`, from the method: `AMBIT_NO_SCOPE`: NestJS did not make its instance; `AMBIT_DRAINING`: the application is being
 *   closed. `HttpError` `AMBIT_OPTION`, from the method: `container` is a function of HTTP requests
 *
 * @example
 * ```ts
 * import { Injectable } from '@nestjs/common';
 *
 * interface IInvoices { sendOverdue(): Promise<void> }
 *
 * @Injectable()
 * class Reminders {
 *   constructor(@InjectScoped('IInvoices') private readonly invoices: IInvoices) {}
 *
 *   // @Cron('0 8 * * *')
 *   @InScope()
 *   @Transactional()
 *   async remind(): Promise<void> {
 *     await this.invoices.sendOverdue();
 *   }
 * }
 * ```
 */
export function InScope() {
  return <T extends (...args: never[]) => Promise<unknown>>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<T>,
  ): void => {
    const method = descriptor.value as unknown as Method;
    const decorated: Method = async function (...args) {
      const { [SCOPE_SETTINGS]: settings } = this;
      if (settings) return inWorkScope(settings, async () => method.apply(this, args));
      if (isUnitTest()) return method.apply(this, args);
      const hint = `${String(name)}() with @InScope() belongs to an instance that NestJS did not make: name its class in the providers of a module. A unit test imports @ambit/nest/testing`;
      throw new ContainerError('AMBIT_NO_SCOPE', { hint });
    };
    Object.defineProperty(decorated, METHOD, { value: method });
    copyMetadata(method, decorated, name);
    Inject(SCOPE_SETTINGS)(target, SCOPE_SETTINGS);
    descriptor.value = decorated as unknown as T;
  };
}

export function methodInScope(method: object): object | undefined {
  return (method as { [METHOD]?: object })[METHOD];
}
