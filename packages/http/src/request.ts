import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import { HttpError } from '@ambit/host';
import type { ConnectedRequest } from './connection.js';
import type { Connections } from './connections.js';
import type { Load } from './load.js';

/** A request of `node:http` with its scopes. */
export interface ScopedRequest extends IncomingMessage {
  /** The scope of this request, tagged `request`. It is disposed when the request finishes. */
  container: IContainer;
  /** The scope of the open transaction, tagged `transaction`. Set by `withTransaction()`. */
  transactionScope?: IContainer;
}

/**
 * A handler of `node:http` that is called with the scope of the request, or of its transaction. An error that it throws,
 * or rejects with, is responded to by `onError`.
 */
export type Handler = (req: ScopedRequest, res: ServerResponse, scope: IContainer) => unknown;

/**
 * The scope of the transaction that `withTransaction()` opened for this request.
 *
 * @param req - the request
 * @returns the scope tagged `transaction`
 * @throws `HttpError` `AMBIT_HTTP_NO_TRANSACTION`: the request has no open transaction
 *
 * @example
 * ```ts
 * import { type Handler, requireTransactionScope } from '@ambit/http';
 * import type { IConnection } from '@ambit/transaction';
 *
 * const countOrders: Handler = async (req, res) => {
 *   const connection = requireTransactionScope(req).resolve<IConnection>('IConnection');
 *   res.end(JSON.stringify(await connection.query('SELECT count(*) AS orders FROM orders')));
 * };
 * ```
 */
export function requireTransactionScope(req: { readonly transactionScope?: IContainer | undefined }): IContainer {
  const { transactionScope } = req;
  if (transactionScope) return transactionScope;
  throw new HttpError('AMBIT_HTTP_NO_TRANSACTION', 'use withTransaction() on the way to this handler');
}

/** Express changes `url` on the way into a router. */
export function nameOf({
  method,
  url,
  originalUrl = url,
}: IncomingMessage & { readonly originalUrl?: string }): string {
  return `${method} ${originalUrl}`;
}

/** What all requests of one middleware, plugin or handler have in common. */
export interface RequestHost {
  /** How many requests may be in progress. */
  readonly load: Load;
  /** Called when a request scope failed to dispose. */
  readonly onDisposeError: (error: unknown, request: ConnectedRequest) => void;
  /** The host calls `finish()` when a response was sent. Default: the events of the response do. */
  readonly callsFinish?: true;
  /** For a framework whose server is known before its first request. Default: found by the socket. */
  readonly connections?: Connections;
}
