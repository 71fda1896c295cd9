import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { IContainer } from '@ambit/container';
import {
  clearRepresentation,
  followTrailers,
  HttpError,
  type PreparedTransactionOptions,
  report,
  type Reporter,
  type RequestTransaction,
} from '@ambit/http/host';
import { beginTransaction, type ErrorHandlers, HeldResponse, RequestHost } from '@ambit/http/node';
import type { ScopedRequest } from '@ambit/http';
import { type CallHandler, StreamableFile } from '@nestjs/common';
import { AsyncSubject, EMPTY, lastValueFrom, type Observable } from 'rxjs';
import { HandlerCall } from './handler-call.js';
import { type Replying } from './nest-internals.js';

const ROUTE = Symbol('ambit.route');
/** So many listeners to the `close` of a response are Ambit's. */
const LISTENERS = 4;

const host = RequestHost.withoutScopes('@Transactional()');

/** The part of the platform that a route needs. */
interface Platform {
  readonly request: ScopedRequest;
  readonly response: ServerResponse;
  /** The reply of Fastify, which has headers of its own. */
  readonly reply: (Parameters<typeof clearRepresentation>[0] & Parameters<typeof followTrailers>[0]) | undefined;
  /** Calls the exception filters of the application, where the router no longer waits for the handler. */
  readonly passOn: Fail;
  /** Reports what no response can carry. */
  readonly onSecondResponse: Reporter<ScopedRequest>;
}

type Fail = (error: unknown) => unknown;

/**
 * Nest's router awaits the handler, or COMMIT, and this function fails it; or it sends the result of the handler next; or the platform has
 * an error for the exception filters; or none of these.
 */
type Phase = Fail | 'idle' | 'passed on' | 'returned';

/** The handler of a route in its transaction: its response leaves after COMMIT, and what fails reaches the exception filters of the route. */
export class HeldRoute implements Replying, ErrorHandlers {
  static of(this: void, response: object): HeldRoute | undefined {
    return (response as { [ROUTE]?: HeldRoute })[ROUTE];
  }

  readonly scope: IContainer;
  readonly #call: HandlerCall;
  readonly #platform: Platform;
  readonly #held: HeldResponse;
  #phase: Phase = 'idle';
  /** The response may leave. */
  #isReleased = false;
  /** Waits for that. */
  #whenReleased: (() => void) | undefined = undefined;
  /** The body of the response is a stream, which goes on when the response is refused. */
  #isStreaming = false;

  private constructor(handler: object, platform: Platform, transaction: RequestTransaction) {
    const { request, response } = platform;
    this.scope = transaction.scope;
    this.#platform = platform;
    this.#call = new HandlerCall(handler, this);
    this.#held = new HeldResponse(request, response, transaction, this);
    (response as { [ROUTE]?: HeldRoute })[ROUTE] = this;
  }

  /** Begins the transaction of a decorated handler. */
  static begin(handler: object, platform: Platform, prepared: PreparedTransactionOptions): Promise<HeldRoute> {
    const { request, response } = platform;
    const { container } = request as Partial<ScopedRequest>;
    if (!container) throw new HttpError('AMBIT_NO_SCOPE', '@Transactional()');
    return beginTransaction(request, response, container, prepared, host).then((transaction) => {
      request.transactionScope = transaction.scope;
      if (platform.reply) followTrailers(platform.reply);
      return new HeldRoute(handler, platform, transaction);
    });
  }

  /** Runs interceptors, pipes and the handler. A handler that has responded by itself is awaited until its response may leave. */
  run(next: CallHandler): Observable<unknown> {
    const held = this.#held;
    const result = new AsyncSubject();
    const respond = (error: unknown): void => result.error(error);
    let isEmpty = true;
    const succeed = (): void => {
      if (this.#phase !== respond) return;
      // In place of a handler that has failed, the result is sent as that of an exception filter is.
      this.#phase = this.#call.failure ? 'idle' : 'returned';
      result.complete();
    };
    const receiver = {
      next: (value: unknown) => {
        isEmpty = false;
        result.next(value);
      },
      error: (error: unknown) => this.#fail(error, respond),
      complete: () => {
        // RxJS alone makes an `EmptyError`.
        if (isEmpty) void lastValueFrom(EMPTY).then(undefined, receiver.error);
        else if (held.hasResponse) this.#afterRelease(succeed);
        else succeed();
      },
    };
    this.#phase = respond;
    held.run(() => this.#call.through(next.handle(), receiver));
    return result;
  }

  /** Sends the result of the handler, and waits for COMMIT; or sends what an exception filter responds. */
  reply(send: () => unknown, body: unknown): unknown {
    if (this.#phase !== 'returned') return send();
    const stream = body instanceof StreamableFile ? body.getStream() : undefined;
    this.#isStreaming = stream !== undefined;
    const { response } = this.#platform;
    // Node warns of more than ten, and for a file Nest and Fastify alone have seven.
    if (stream) response.setMaxListeners(response.getMaxListeners() + LISTENERS);
    // Nest responds to it with 400.
    stream?.once('error', (error) => this.#held.fail(error));
    return new Promise((resolve, reject) => {
      const fail: Fail = reject;
      this.#phase = (error) => afterClose(this.#platform.reply && stream, () => fail(error));
      try {
        const sent = send();
        const settle = (): void => resolve(sent);
        this.#afterRelease(settle);
        response.once('close', settle);
      } catch (error) {
        this.#fail(error, reject);
      }
    });
  }

  #afterRelease(act: () => void): void {
    if (this.#isReleased) act();
    else this.#whenReleased = act;
  }

  /** A handler has passed an error on past the router, or the platform has refused its response. */
  handleError(error: unknown, handle: () => unknown): unknown {
    if (this.#phase !== 'passed on') return this.#fail(error, handle);
    this.#phase = 'idle';
    return handle();
  }

  #fail(error: unknown, respond: Fail): void {
    const held = this.#held;
    // Nobody waits for a response.
    if (held.isOfDisconnect(error)) return;
    if (held.isReplaced) return held.reportLate(error);
    if (held.hold(respond, error)) return;
    held.fail(error);
    this.#respond(error, respond);
  }

  /** The handler has failed, or an interceptor did not wait for it. The interceptors may still respond, as exception filters may. */
  onFailed(error: unknown): void {
    const held = this.#held;
    if (held.hasResponse || held.isReplaced || held.isOfDisconnect(error)) return;
    held.fail(error);
    held.isHandlingError = true;
  }

  /** The response must not leave: the exception filters respond in its place. */
  handle(error: unknown): void {
    if (this.#held.isOfDisconnect(error)) return;
    if (typeof this.#phase === 'function') this.#respond(error, this.#phase);
    else this.#respond(error, this.#platform.passOn, 'passed on');
  }

  report(error: unknown): void {
    report(this.#platform.onSecondResponse, error, this.#platform.request);
  }

  isHandlerDone(): boolean {
    return !this.#call.isRunning && !this.#isStreaming;
  }

  onReleased(): void {
    this.#isReleased = true;
    this.#whenReleased?.();
  }

  #respond(error: unknown, respond: Fail, phase: Phase = 'idle'): void {
    this.#phase = phase;
    this.#held.isHandlingError = true;
    const { reply } = this.#platform;
    if (reply) clearRepresentation(reply);
    respond(error);
  }
}

/** Fastify closes the connection of a response that leaves when the stream of another one closes, which it still listens to. */
function afterClose(stream: Readable | undefined, act: () => void): void {
  if (!stream || stream.closed) return act();
  stream.once('close', act);
  stream.destroy();
}
