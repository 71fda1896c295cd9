import { ContainerError, currentScope, type IContainer, runInScope } from '@ambit/container';
import {
  checkFunctions,
  invalidOption,
  type PreparedTransactionOptions,
  prepareTransactionOptions,
  type RequestTransactionOptions,
} from '@ambit/http/host';
import type { IncomingMessage } from 'node:http';
import type { HeldResponseOptions } from '@ambit/http/node';
import { runInTransaction, type RunOptions, type TransactionError } from '@ambit/transaction';
import { TransactionSettings } from '@ambit/transaction/host';
import { isObservable, type Observable } from 'rxjs';
import { HandlerCall } from './handler-call.js';
import { methodInScope } from './in-scope.js';
import { copyMetadata, handlerKindOf, methodNames } from './nest-internals.js';
import { isUnitTest } from './unit-tests.js';

/** The terms of the transaction of a handler or a method, and how it is run. */
export interface TransactionalOptions
  extends
    Omit<RequestTransactionOptions<never>, 'onError'>,
    HeldResponseOptions,
    Pick<RunOptions, 'propagation' | 'retries' | 'backoffMs'> {
  /** Called with failures that change no outcome, and with the request where there is one. Default: a process warning. */
  readonly onError?: (error: TransactionError, request?: IncomingMessage) => void;
}

/** The methods that can be decorated: a result that is no promise would become one. */
type TransactionalMethod = (...args: never[]) => Promise<unknown> | Observable<unknown>;

/** Decorates a controller, a handler, or an asynchronous method of a provider. */
export interface TransactionalDecorator {
  (controller: abstract new (...args: never[]) => unknown): void;
  <T extends TransactionalMethod>(target: object, name: string | symbol, method: TypedPropertyDescriptor<T>): void;
}

const OPTIONS = Symbol.for('@ambit/nest/transactional');

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Runs a handler of a controller, or a method of a provider, in a transaction. On a controller it is meant for each of its handlers.
 *
 * The transaction of an HTTP handler begins behind the guards, before the interceptors and pipes. What any of them throws, whatever its
 * status, rolls back; the response is sent after COMMIT, and one of 500 or more rolls back. The transaction of another method commits
 * before its result is delivered. A method that is called in a transaction runs as a part of it, unless `propagation` says otherwise.
 *
 * @param options - the terms of the transaction
 * @returns the decorator
 * @throws `HttpError` `AMBIT_OPTION`: the class has no handler. `ContainerError` `AMBIT_NO_SCOPE`, from the method: it was called outside of a
 *   request and a message. What `runInTransaction()` throws, from the method
 *
 * @example
 * ```ts
 * import { Body, Controller, Post } from '@nestjs/common';
 *
 * interface IOrders { create(body: unknown): Promise<object> }
 *
 * @Controller('orders')
 * class OrdersController {
 *   constructor(@InjectScoped('IOrders') private readonly orders: IOrders) {}
 *
 *   @Post()
 *   @Transactional({ isolation: 'serializable' })
 *   async create(@Body() body: unknown): Promise<object> {
 *     return this.orders.create(body);
 *   }
 * }
 * ```
 */
export function Transactional(options: TransactionalOptions = {}): TransactionalDecorator {
  return (target: object, name?: string | symbol, method?: PropertyDescriptor): void => {
    if (method) method.value = inTransaction(method.value as Method, options, name);
    else decorateHandlers(target as abstract new () => unknown, options);
  };
}

export function transactionalOptionsOf(method: object): TransactionalOptions | undefined {
  return (method as { [OPTIONS]?: TransactionalOptions })[OPTIONS];
}

/** Gives the options of the transaction of one request. */
export type Prepare = (request: IncomingMessage) => PreparedTransactionOptions;

/** Options of a run, which the transaction of a request has not: its response decides, and is sent once. */
const OF_RUNS = ['propagation', 'retries', 'backoffMs'] as const;
/** Options of a response. */
const OF_RESPONSES = ['rollbackOn', 'onSecondResponse'] as const;

/** Prepares the options of a decorated handler of HTTP requests. */
export function prepareHandler(handler: object): Prepare {
  const { onSecondResponse: _, ...options } = transactionalOptionsOf(handler) ?? {};
  return prepareTransactionOptions<IncomingMessage>(options);
}

/**
 * The key of the connection of a decorated method. Refuses what is no option of such a method; `owner` is its class.
 */
export function connectionOf(method: object, owner: string): string | undefined {
  const options = transactionalOptionsOf(method);
  if (!options) return undefined;
  const kind = handlerKindOf(method);
  const where = `@Transactional() of ${owner}.${(method as Method).name}()`;
  if (kind === 'sse')
    throw invalidOption(
      `${where}: its events are sent while it runs, and not after COMMIT. Write in a method of a provider`,
    );
  const isOfRequest = kind === 'http';
  const wrong = (isOfRequest ? OF_RUNS : OF_RESPONSES).find((name) => options[name] !== undefined);
  const what = isOfRequest ? 'a handler of HTTP requests' : 'a method that responds to no HTTP request';
  if (wrong) throw invalidOption(`${where} has the option ${wrong}, which ${what} has not`);
  checkFunctions(options, 'onSecondResponse');
  if (isOfRequest) prepareHandler(method);
  else TransactionSettings.of(options as RunOptions);
  return options.connection ?? 'IConnection';
}

function inTransaction(method: Method, options: TransactionalOptions, name: string | symbol = method.name): Method {
  if (methodInScope(method))
    throw invalidOption(
      `@Transactional() of ${String(name)}() has to stand below @InScope(), which opens its scope: on the method, not on the class`,
    );
  const { rollbackOn: _, onSecondResponse: __, ...terms } = options;
  const run = { propagation: 'required', ...terms } as RunOptions;
  const runAlone = async (current: IContainer | undefined, call: () => unknown): Promise<unknown> => {
    const scope = current ?? scopeMissing(decorated);
    if (!scope) return call();
    const work = (inner: IContainer): Promise<unknown> => runInScope(inner, async () => settled(await call(), method));
    return runInTransaction(scope, work, run);
  };
  const decorated: Method = function (this: unknown, ...args) {
    const scope = currentScope(undefined);
    const work = (): unknown => method.apply(this, args);
    const call = scope && HandlerCall.in(scope, decorated);
    return call ? call.run(work) : runAlone(scope, work);
  };
  Object.defineProperty(decorated, OPTIONS, { value: options, configurable: true });
  copyMetadata(method, decorated, name);
  return decorated;
}

function settled(result: unknown, { name }: Method): unknown {
  if (!isObservable(result)) return result;
  throw invalidOption(
    `${name}() with @Transactional() returned an Observable, which nobody has subscribed to when the transaction commits: return a promise, such as that of lastValueFrom()`,
  );
}

/** Undefined in a unit test, whose methods are called as they are. */
function scopeMissing({ name }: Method): undefined {
  if (isUnitTest()) return undefined;
  const hint = `${name}() with @Transactional() was called outside of a scope: put @InScope() above it where no request calls it, such as in a cron job, a queue or an event; messages need AmbitModule.forRoot(), and connectMicroservice() with inheritAppConfig. A unit test imports @ambit/nest/testing`;
  throw new ContainerError('AMBIT_NO_SCOPE', { hint });
}

function decorateHandlers(controller: abstract new () => unknown, options: TransactionalOptions): void {
  const { name, prototype } = controller as unknown as { name: string; prototype: Record<string, Method> };
  const handlers = methodNames(prototype).filter((method) => handlerKindOf(prototype[method] as Method));
  if (handlers.length === 0)
    throw invalidOption(
      `@Transactional() of the class ${name}, which has no handler: decorate the methods of a provider one by one`,
    );
  for (const handler of handlers) {
    const method = prototype[handler] as Method;
    const own = transactionalOptionsOf(method);
    if (own) {
      if (options.rollbackOn)
        Object.defineProperty(method, OPTIONS, { value: { rollbackOn: options.rollbackOn, ...own } });
      continue;
    }
    const value = inTransaction(method, options, handler);
    Object.defineProperty(prototype, handler, { value, writable: true, configurable: true });
  }
}
