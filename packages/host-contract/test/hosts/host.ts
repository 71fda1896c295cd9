import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { IContainer } from '@ambit/container';
import type { TransactionOptions } from '@ambit/transaction';
import type { Wrap } from '../../src/index.js';

/** What a handler responds with, in no host's words. */
export type Reply =
  | { readonly kind: 'json'; readonly body: unknown; readonly status?: number }
  | { readonly kind: 'text'; readonly text: string }
  /** Ends the raw response, past everything the host offers. */
  | { readonly kind: 'end'; readonly text: string }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'stream'; readonly stream: Readable };

/** What a handler is given, on every host. */
export interface Call {
  /** `container` of the request. */
  readonly scope: IContainer;
  /** `transactionScope` of the request; on a route without a transaction there is none. */
  readonly transactionScope: IContainer;
  readonly body: unknown;
  /** A header of the request, as the host gives it. */
  header(name: string): string | readonly string[] | null | undefined;
  /** The response of `node:http`, on hosts whose handlers respond with it. */
  readonly res?: ServerResponse;
  /** Says something of the response to come. */
  setHeaders(headers: Readonly<Record<string, string>>): void;
  /** Responds before the handler returns. On Fastify, where handlers commit by themselves, that commits first. */
  respond(reply: Reply): Promise<void>;
  /** Hands an error over as the host's handlers do besides throwing: `next(error)`, or sending it. */
  fail(error: unknown): void;
}

/** Its terms, and on the routes whose response decides which statuses roll back, and who is notified of what no response carries. */
interface RouteTransaction extends TransactionOptions {
  readonly rollbackOn?: (status: number) => boolean;
  readonly onSecondResponse?: (error: unknown) => void;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Runs the handler in a transaction that is committed when it responds. */
  readonly transaction?: RouteTransaction;
  /** On Fastify the response commits, too, by `config.transaction`, and the handler does not. */
  readonly responseDecides?: boolean;
  /** What middlewares wrap around the response before the transaction begins, and behind it, in the handler. */
  readonly wrap?: { readonly before?: Wrap; readonly behind?: Wrap };
  readonly handle: (call: Call) => Promise<Reply | void> | Reply | void;
}

/** The same options on every host. */
export interface RequestLimits {
  readonly maxRequests?: number;
  readonly maxRequestsPerConnection?: number;
  readonly isEssential?: (request: IncomingMessage) => boolean;
}

/** How request scopes are opened; options of the same name on every host. */
export interface ScopeOptions {
  /** In place of the application container. */
  readonly parent?: (request: object) => IContainer | Promise<IContainer>;
  readonly tags?: readonly string[];
  readonly register?: (scope: IContainer, request: object) => unknown;
  readonly start?: boolean;
  readonly current?: boolean;
  readonly rollbackOn?: (status: number) => boolean;
}

export interface AppDescription {
  readonly container: IContainer;
  readonly routes: readonly Route[];
  readonly onDisposeError: (error: unknown) => void;
  /** Default true; with `false`, errors are responded to by the framework itself. */
  readonly ownErrorHandler?: boolean;
  /** How much the application takes on at a time. */
  readonly limits?: RequestLimits;
  readonly scopeOptions?: ScopeOptions | undefined;
  /** Runs before the host's own part, for every request; `next` may be called at any time, in any asynchronous context. */
  readonly before?: ((request: IncomingMessage, next: () => void) => void | Promise<void>) | undefined;
  /** Called with every error that reached the application's error handler. */
  readonly onError: (error: unknown) => void;
}

export interface RunningHost {
  readonly port: number;
  /** Stops as an application does on SIGTERM: responds to what has begun, then disposes the application container. */
  close(): Promise<void>;
}

/** A guarantee that a host does not give. */
export interface Exception {
  /** Matched against the titles of the test and of what it is part of. */
  readonly test: RegExp;
  readonly because: string;
}

/**
 * One of the hosts under contract, with an ordinary application on it. To put another host under contract, write one file
 * beside this one that exports a `Host`, and a test file that calls `describeHostContract(host)`.
 */
export interface Host {
  /** Default: none. The tests are skipped, and tell the reason. */
  readonly exceptions?: readonly Exception[];
  readonly name: string;
  start(app: AppDescription): Promise<RunningHost>;
}

/** What both applications respond to an error with: no text of a driver, and 503 where the client may come back. */
export function replyTo(error: unknown): { status: number; body: { error: string; code?: unknown } } {
  const { statusCode, code, unavailable } = Object(error) as Record<string, unknown>;
  if (unavailable === true) return { status: 503, body: { error: 'Try again later', code } };
  if (typeof statusCode === 'number' && statusCode < 500) return { status: statusCode, body: { error: 'Bad request' } };
  return { status: 500, body: { error: 'Internal error', code } };
}

/** Bytes only, as bodies of the web are. */
export function webStreamOf(stream: Readable): ReadableStream<Uint8Array> {
  const bytes = new TransformStream<string | Uint8Array, Uint8Array>({
    transform: (chunk, controller) => controller.enqueue(Buffer.from(chunk)),
  });
  return (Readable.toWeb(stream) as ReadableStream<string | Uint8Array>).pipeThrough(bytes);
}

export const BODY_LIMIT = 1000;
