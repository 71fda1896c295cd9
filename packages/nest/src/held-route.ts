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
  readonly passOn: (error: unknown) => void;
  /** Reports what no response can carry. */
  readonly onSecondResponse: Reporter<ScopedRequest>;
}

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
  /** Fails what the router awaits. */
  #reject: ((error: unknown) => void) | undefined = undefined;
  /** The handler has returned, and what the router sends is its result. */
  #isReplying = false;
  /** The body of the response is a stream, which goes on when the response is refused. */
  #isStreaming = false;
  /** What was given to the exception filters of the application. */
  #passedOn: unknown = undefined;

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
      this.#reject = reject;
      const succeed = async (result: unknown): Promise<void> => {
        if (held.hasResponse) await this.#released;
        if (this.#reject !== reject) return;
        this.#reject = undefined;
        // In place of a handler that has failed, the result is sent as that of an exception filter is.
        this.#isReplying = !this.#call.failure;
        resolve(result);
      };
      const fail = (error: unknown): void => this.#fail(error, reject);
      held.run(() => this.#call.through(work)).then(succeed, fail);
    });
  }

  /** Sends the result of the handler, and waits for COMMIT; or sends what an exception filter responds. */
  reply(send: () => unknown, body: unknown): unknown {
    if (!this.#isReplying) return send();
    this.#isReplying = false;
    const stream = body instanceof StreamableFile ? body.getStream() : undefined;
    this.#isStreaming = stream !== undefined;
    // Nest responds to it with 400.
    stream?.once('error', (error) => this.#held.fail(error));
    return new Promise((resolve, reject) => {
      const fail: (error: unknown) => void = reject;
      this.#reject = (error) => afterClose(this.#platform.reply && stream, () => fail(error));
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
    if (error === this.#passedOn) return handle();
    this.#fail(error, handle);
    return undefined;
  }

  #fail(error: unknown, respond: (error: unknown) => unknown): void {
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
    const reject = this.#reject;
    if (!reject) this.#passedOn = error;
    this.#respond(error, reject ?? this.#platform.passOn);
  }

  #respond(error: unknown, respond: (error: unknown) => unknown): void {
    this.#reject = undefined;
    this.#isReplying = false;
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
