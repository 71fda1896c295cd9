import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type IContainer, runInScope } from '@ambit/container';
import type { ScopedRequest } from '@ambit/http';
import { ActiveRequest, isDisconnect, type Reporter } from '@ambit/http/host';
import { inOwnContext, publishFailure } from '@ambit/transaction/host';
import { runInTransaction, type RunOptions } from '@ambit/transaction';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { NEVER, Observable, type Subscriber, tap } from 'rxjs';
import { HandlerCall } from './handler-call.js';
import { HeldRoute } from './held-route.js';
import { inWorkScope, type ScopeSettings } from './in-scope.js';
import { rawOf } from './nest-internals.js';
import { type Prepare, prepareHandler, type TransactionalOptions, transactionalOptionsOf } from './transactional.js';

/** The members of Fastify's reply that are used. */
interface FastifyReply {
  removeHeader(name: string): unknown;
  trailer(name: string, make: never): unknown;
  removeTrailer(name: string): unknown;
  send(payload: unknown): void;
}

/** Opens its scopes, and is notified of failures that no response carries. */
interface Settings extends ScopeSettings {
  readonly onSecondResponse: Reporter<IncomingMessage>;
}

const handlerFailed = channel('ambit:handler:failed');

/** The outermost interceptor of every handler: runs what is behind it in the scope, and in the transaction, of its request or message. */
export class ScopeInterceptor implements NestInterceptor {
  readonly #settings: Settings;
  readonly #prepared = new Map<object, Prepare>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> | Promise<Observable<unknown>> {
    switch (context.getType<string>()) {
      case 'http':
        return this.#ofRequest(context, next);
      case 'rpc':
      case 'ws':
        return this.#ofMessage(context, next);
      default:
        // A field of GraphQL is resolved within the HTTP request, whose scope is the current one.
        return next.handle();
    }
  }

  #ofRequest(context: ExecutionContext, next: CallHandler): Observable<unknown> | Promise<Observable<unknown>> {
    const handler = context.getHandler();
    const options = transactionalOptionsOf(handler);
    const observed = handlerFailed.hasSubscribers
      ? { handle: () => next.handle().pipe(tap({ error: publishFailure })) }
      : next;
    if (options) return inOwnContext(() => this.#inTransaction(context, observed));
    const { container } = rawOf(context.getArgByIndex<object>(0)) as Partial<ScopedRequest>;
    const active = container && ActiveRequest.of(container);
    // A middleware may have lost the asynchronous context, or have called `next` in that of another request.
    return active ? active.run(() => observed.handle()) : observed.handle();
  }

  #inTransaction(context: ExecutionContext, rest: CallHandler): Promise<Observable<unknown>> {
    const [ofRequest, ofResponse, goOn] = context.getArgs<[object, object, ((error: unknown) => void) | undefined]>();
    const request = rawOf(ofRequest) as ScopedRequest;
    const response = rawOf(ofResponse) as ServerResponse;
    const handler = context.getHandler();
    return HeldRoute.begin(
      handler,
      {
        request,
        response,
        reply: ofResponse === response ? undefined : (ofResponse as FastifyReply),
        // Fastify has no `next`: its error handler is called with an error that is sent.
        passOn: goOn ?? ((error) => (ofResponse as FastifyReply).send(error)),
        onSecondResponse: transactionalOptionsOf(handler)?.onSecondResponse ?? this.#settings.onSecondResponse,
      },
      this.#prepare(handler)(request),
    ).then((route) => route.run(rest), unlessDisconnected);
  }

  /** Checked at start-up, and then used for all requests. */
  #prepare(handler: object): Prepare {
    let prepare = this.#prepared.get(handler);
    if (!prepare) this.#prepared.set(handler, (prepare = prepareHandler(handler)));
    return prepare;
  }

  #ofMessage(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const handler = context.getHandler();
    const options = transactionalOptionsOf(handler);
    return new Observable((subscriber) => {
      const work = (scope: IContainer, signal: AbortSignal): Promise<void> =>
        options
          ? deliverAfterCommit(scope, { handler, options, next, subscriber })
          : deliver(next.handle(), { subscriber, signal });
      inWorkScope(this.#settings, work).then(
        () => subscriber.complete(),
        (error: unknown) => subscriber.error(error),
      );
    });
  }
}

/** Nobody waits for a response. */
function unlessDisconnected(error: unknown): Observable<never> {
  if (!isDisconnect(error)) throw error;
  return NEVER;
}

interface Receiver {
  readonly subscriber: Subscriber<unknown>;
  /** Aborts when shutdown has taken too long. */
  readonly signal: AbortSignal;
}

/** Passes on what a handler emits. Resolves when that was all, or when nobody wants more of it. */
function deliver(results: Observable<unknown>, { subscriber, signal }: Receiver): Promise<void> {
  return new Promise((resolve, reject) => {
    const subscription = results.subscribe({
      next: (value) => subscriber.next(value),
      error: reject,
      complete: () => resolve(),
    });
    const stop = (): void => {
      subscription.unsubscribe();
      resolve();
    };
    subscriber.add(stop);
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
      stop();
    });
  });
}

interface Delivery {
  readonly handler: object;
  readonly options: TransactionalOptions;
  readonly next: CallHandler;
  readonly subscriber: Subscriber<unknown>;
}

async function deliverAfterCommit(scope: IContainer, { handler, options, next, subscriber }: Delivery): Promise<void> {
  /** The failure of the handler, and the values that interceptors emitted in its place. */
  let replaced: { readonly error: unknown; readonly values: unknown[] } | undefined;
  const work = async (inner: IContainer): Promise<unknown[]> => {
    const call = new HandlerCall(handler, {
      scope: inner,
      join: (handle) => runInTransaction(inner, handle, { ...keysOf(options), propagation: 'required' }),
    });
    const values: unknown[] = [];
    await new Promise<void>((resolve, reject) => {
      const receiver = { next: (value: unknown) => void values.push(value), error: reject, complete: resolve };
      runInScope(inner, () => call.through(next.handle(), receiver));
    });
    if (!call.failure) return values;
    replaced = { error: call.failure.error, values };
    throw replaced.error;
  };
  const values = await runInTransaction(scope, work, options as RunOptions).catch((error: unknown) => {
    // The values of a former attempt are void: a later one could not begin, or the time was up.
    if (!replaced || replaced.error !== error) throw error;
    return replaced.values;
  });
  for (const value of values) subscriber.next(value);
}

function keysOf({ pool, connection }: TransactionalOptions): RunOptions {
  return { ...(pool && { pool }), ...(connection && { connection }) };
}
