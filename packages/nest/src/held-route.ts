import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import {
  clearRepresentation,
  followTrailers,
  HttpError,
  type PreparedTransactionOptions,
  report,
  type Reporter,
} from '@ambit/http/host';
import { beginTransaction, HeldResponse, RequestHost } from '@ambit/http/node';
import type { ScopedRequest } from '@ambit/http';
import { StreamableFile } from '@nestjs/common';
import { HandlerCall } from './handler-call.js';
import { type Replying } from './nest-internals.js';

const ROUTE = Symbol('ambit.route');

const host = RequestHost.withoutScopes('@Transactional()');

/** What a route needs of the platform. */
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
export class HeldRoute {
  static of(response: ServerResponse): HeldRoute | undefined {
    return (response as { [ROUTE]?: HeldRoute })[ROUTE];
  }

  readonly #call: HandlerCall;
  readonly #platform: Platform;
  readonly #held: HeldResponse;
  readonly #released: Promise<void>;
  #release!: () => void;
  #phase: Phase = 'idle';
  /** The body of the response is a stream, which goes on when the response is refused. */
  #isStreaming = false;

  private constructor(handler: object, platform: Platform, transaction: Awaited<ReturnType<typeof beginTransaction>>) {
    const { request, response } = platform;
    this.#platform = platform;
    this.#call = new HandlerCall(handler, {
      scope: transaction.scope,
      onFailed: (error) => this.#failHandler(error),
    });
    this.#released = new Promise((resolve) => (this.#release = resolve));
    this.#held = new HeldResponse(request, response, transaction, {
      handle: (error) => this.#replace(error),
      report: (error) => report(platform.onSecondResponse, error, request),
      isHandlerDone: () => !this.#call.isRunning && !this.#isStreaming,
      onReleased: () => this.#release(),
    });
    (response as { [ROUTE]?: HeldRoute })[ROUTE] = this;
  }

  /** Begins the transaction of a decorated handler. */
  static async begin(handler: object, platform: Platform, prepared: PreparedTransactionOptions): Promise<HeldRoute> {
    const { request, response } = platform;
    const { container } = request as Partial<ScopedRequest>;
    if (!container) throw new HttpError('AMBIT_NO_SCOPE', '@Transactional()');
    const transaction = await beginTransaction(request, response, container, prepared, host);
    request.transactionScope = transaction.scope;
    if (platform.reply) followTrailers(platform.reply);
    return new HeldRoute(handler, platform, transaction);
  }

  /** Runs interceptors, pipes and the handler. A handler that has responded by itself is awaited until its response may leave. */
  run(work: () => Promise<unknown>): Promise<unknown> {
    const held = this.#held;
    return new Promise((resolve, reject) => {
      this.#phase = reject;
      const succeed = async (result: unknown): Promise<void> => {
        if (held.hasResponse) await this.#released;
        if (this.#phase !== reject) return;
        // In place of a handler that has failed, the result is sent as that of an exception filter is.
        this.#phase = this.#call.failure ? 'idle' : 'returned';
        resolve(result);
      };
      const fail = (error: unknown): void => this.#fail(error, reject);
      held.run(() => this.#call.through(work)).then(succeed, fail);
    });
  }

  /** Sends the result of the handler, and waits for COMMIT; or sends what an exception filter responds. */
  reply(send: () => unknown, body: unknown): unknown {
    if (this.#phase !== 'returned') return send();
    const stream = body instanceof StreamableFile ? body.getStream() : undefined;
    this.#isStreaming = stream !== undefined;
    // Nest responds to it with 400.
    stream?.once('error', (error) => this.#held.fail(error));
    return new Promise((resolve, reject) => {
      const fail: Fail = reject;
      this.#phase = (error) => afterClose(this.#platform.reply && stream, () => fail(error));
      try {
        const sent = send();
        const settle = (): void => resolve(sent);
        void this.#released.then(settle);
        this.#platform.response.once('close', settle);
      } catch (error) {
        this.#fail(error, reject);
      }
    });
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

  /** Rolls back. The interceptors may still respond, as exception filters may. */
  #failHandler(error: unknown): void {
    const held = this.#held;
    if (held.hasResponse || held.isReplaced || held.isOfDisconnect(error)) return;
    held.fail(error);
    held.isHandlingError = true;
  }

  /** The response must not leave: the exception filters respond in its place. */
  #replace(error: unknown): void {
    if (this.#held.isOfDisconnect(error)) return;
    if (typeof this.#phase === 'function') this.#respond(error, this.#phase);
    else this.#respond(error, this.#platform.passOn, 'passed on');
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

/** For all responses of an application: those of routes without a transaction are sent as they are. */
export const replyingInTransactions: Replying = {
  reply: (response, send, body) => {
    const route = HeldRoute.of(response);
    return route ? route.reply(send, body) : send();
  },
  handleError: (response, error, handle) => {
    const route = HeldRoute.of(response);
    return route ? route.handleError(error, handle) : handle();
  },
};
