import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { IContainer } from '@ambit/container';
import type { TransactionOptions } from '@ambit/transaction';
import type { Wrap } from '../tools/wrappers.js';

/** The response of a handler, in no host's words. */
export type Reply =
  | { readonly kind: 'json'; readonly body: unknown; readonly status?: number }
  | { readonly kind: 'text'; readonly text: string }
  /** Ends the raw response, past everything the host offers. */
  | { readonly kind: 'end'; readonly text: string }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'stream'; readonly stream: Readable };

/** The arguments of a handler, on every host. */
export interface Call {
  /** `container` of the request. */
  readonly scope: IContainer;
  /** `transactionScope` of the request; on a route without a transaction there is none. */
  readonly transactionScope: IContainer;
  /** The body of the request, parsed as JSON. */
  readonly body: unknown;
  /**
   * Reads the body of a request with the content type `application/octet-stream`, which nobody has read before.
   *
   * @returns its text
   */
  readBody(): Promise<string>;
  /**
   * A header of the request, as the host gives it.
   *
   * @param name - in lower case
   * @returns its value
   */
  header(name: string): string | readonly string[] | null | undefined;
  /** The response of `node:http`, on hosts whose handlers respond with it. */
  readonly res?: ServerResponse;
  /**
   * Says something of the response to come.
   *
   * @param headers - its headers
   */
  setHeaders(headers: Readonly<Record<string, string>>): void;
  /**
   * Responds before the handler returns. On Fastify, where handlers commit by themselves, that commits first.
   *
   * @param reply - the response
   */
  respond(reply: Reply): Promise<void>;
  /**
   * Hands an error over as the host's handlers do besides throwing: `next(error)`, or sending it.
   *
   * @param error - the error
   */
  fail(error: unknown): void;
}

/** Its terms, and on the routes whose response decides which statuses roll back, and who is notified of what no response carries. */
export interface RouteTransaction extends Omit<TransactionOptions, 'readOnly'> {
  /** As of every host. */
  readonly readOnly?: boolean | 'safe-methods';
  /** True if a response of this status rolls back. */
  readonly rollbackOn?: (status: number) => boolean;
  /** Called with what no response carries. */
  readonly onSecondResponse?: (error: unknown) => void;
}

/** A route of the application. */
export interface Route {
  /** HEAD is served as GET. */
  readonly method: 'GET' | 'POST' | 'QUERY';
  /** Without parameters, such as `/orders`. */
  readonly path: string;
  /** Runs the handler in a transaction that is committed when it responds. */
  readonly transaction?: RouteTransaction;
  /** On Fastify the response commits, too, by `config.transaction`, and the handler does not. */
  readonly responseDecides?: boolean;
  /** The wrappers that middlewares put around the response before the transaction begins, and behind it, in the handler. */
  readonly wrap?: { readonly before?: Wrap; readonly behind?: Wrap };
  /** Its handler; what it returns is sent, and what it throws is passed to the error handler. */
  readonly handle: (call: Call) => Promise<Reply | void> | Reply | void;
}

/** The same options on every host. */
export interface RequestLimits {
  /** The number of requests that may be in progress. */
  readonly maxRequests?: number;
  /** How many requests of one connection may wait for their response. */
  readonly maxRequestsPerConnection?: number;
  /** True for a request that is never refused. */
  readonly isEssential?: (request: IncomingMessage) => boolean;
}

/** How request scopes are opened; options of the same name on every host. */
export interface ScopeOptions {
  /** In place of the application container. */
  readonly parent?: (request: object) => IContainer | Promise<IContainer>;
  /** The tags of the request scope. */
  readonly tags?: readonly string[];
  /** Binds data of the request in its scope. */
  readonly register?: (scope: IContainer, request: object) => unknown;
  /** True if request-scoped services start before the handler. */
  readonly start?: boolean;
  /** True if the scope is `currentScope()`. */
  readonly current?: boolean;
  /** True if a response of this status rolls back, where its route does not say so. */
  readonly rollbackOn?: (status: number) => boolean;
}

/** The application that a test serves. */
export interface AppDescription {
  /** The application container, which `close()` disposes. */
  readonly container: IContainer;
  /** Its routes; every other path is a 404. */
  readonly routes: readonly Route[];
  /** Called when a request scope failed to dispose. */
  readonly onDisposeError: (error: unknown) => void;
  /** Default true: one that responds with `problemOf(error)`. With `false`, errors are responded to by the framework itself. */
  readonly ownErrorHandler?: boolean;
  /** How much the application takes on at a time. */
  readonly limits?: RequestLimits;
  /** How request scopes are opened. */
  readonly scopeOptions?: ScopeOptions | undefined;
  /** Runs before the host's own part, for every request; `next` may be called at any time, in any asynchronous context. */
  readonly before?: ((request: IncomingMessage, next: () => void) => void | Promise<void>) | undefined;
  /** Called with every error that reached the application's error handler. */
  readonly onError: (error: unknown) => void;
}

/** An application that listens. */
export interface RunningHost {
  /** Its port on 127.0.0.1. */
  readonly port: number;
  /** Stops as an application does on SIGTERM: responds to what has begun, then disposes the application container. */
  close(): Promise<void>;
}

/** A guarantee that a host does not give. */
export interface Exception {
  /** Matched against the titles of the test and of what it is part of. */
  readonly test: RegExp;
  /** The reason, which the skipped test names. */
  readonly because: string;
}

/** A host under contract, with an ordinary application on it. */
export interface Host {
  /** Default: none. The tests are skipped, and tell the reason. */
  readonly exceptions?: readonly Exception[];
  /** Its name in the titles of tests. */
  readonly name: string;
  /** Handlers write to a response of `node:http` themselves, which is held back until COMMIT: adds the tests of that. Default false. */
  readonly holdsResponse?: boolean;
  /**
   * Starts the application on 127.0.0.1.
   *
   * @param app - its container, routes and options
   * @returns the application, when it listens
   */
  start(app: AppDescription): Promise<RunningHost>;
}

/** @internal Bytes only, as bodies of the web are. */
export function webStreamOf(stream: Readable): ReadableStream<Uint8Array> {
  const bytes = new TransformStream<string | Uint8Array, Uint8Array>({
    transform: (chunk, controller) => controller.enqueue(Buffer.from(chunk)),
  });
  return (Readable.toWeb(stream) as ReadableStream<string | Uint8Array>).pipeThrough(bytes);
}

/** @internal */
export const BODY_LIMIT = 1000;
