import type { ServerResponse } from 'node:http';
import { isAfterDisconnect } from '@ambit/http/host';
import { IdempotencyError } from '@ambit/idempotency';
import { sqlStateOf, TransactionError } from '@ambit/transaction';
import { codeOf } from '@ambit/transaction/extension';
import { type Static, Type } from 'typebox';
import type { HostOptions } from '../hosts/host.js';
import { Problem } from '../problem.js';

/** The response of a use case or a route; each host sends it in its own way. */
export interface HttpResponse<T = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: T;
}

/** The body of every error response. */
export const ErrorBody = Type.Object(
  { error: Type.String({ description: 'What is wrong, in one sentence for a developer.' }) },
  { additionalProperties: false },
);
export type ErrorBody = Static<typeof ErrorBody>;
type ErrorResponse = HttpResponse<ErrorBody>;

/** No cache keeps a response, which has personal data, and no browser takes it for anything but its type. */
export const PROTECTED = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

export const JSON_TYPE = 'application/json; charset=utf-8';

/** A response with its text, for where no framework writes JSON. */
export const jsonResponse = (status: number, value: unknown): HttpResponse<string> =>
  textResponse(status, JSON_TYPE, JSON.stringify(value));

export function textResponse(status: number, type: string, body: string): HttpResponse<string> {
  return { status, headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) }, body };
}

/** Refused at once, on purpose: the host has its maximum of requests in progress, or the pool of waiting callers, or the service shuts down. */
const OVERLOAD: ReadonlySet<unknown> = new Set(['AMBIT_HTTP_OVERLOADED', 'AMBIT_TX_POOL_FULL', 'AMBIT_TX_POOL_CLOSED']);
/** The SQLSTATE of a server with too many connections, and of one that is read-only: a standby, until connections go to the primary again. */
const [NO_ROOM, READ_ONLY] = ['53300', '25006'];

/** Our own messages for what the frameworks refuse, so that both hosts send the same. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request is malformed',
  408: 'The request took too long to arrive',
  415: 'The body must be sent as application/json in UTF-8',
  431: 'The header fields are too large',
};

const response = (status: number, error: string, headers: ErrorResponse['headers'] = {}): ErrorResponse => ({
  status,
  headers,
  body: { error },
});
const OUR_FAULT = response(500, 'Internal Server Error');
const TRY_AGAIN = response(503, 'Service Unavailable: try again in a moment', { 'retry-after': '1' });
// No Retry-After: an automatic retry without a key would do the work twice.
const UNKNOWN = 'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same';

/** The only place that turns an error into a response. No text of a driver or framework reaches the client. */
export function errorResponse(error: unknown): ErrorResponse {
  if (error instanceof Problem || error instanceof IdempotencyError)
    return response(error.status, error.message, error.headers);
  if (error instanceof TransactionError) return databaseErrorResponse(error);
  if (isOverload(error)) return TRY_AGAIN;
  // Fastify and Express mark the errors they refuse a request with, or give a URIError a status; one on any other error is ignored.
  const { code, expose, status, statusCode = status } = Object(error) as Record<string, unknown>;
  const isFromFramework =
    expose === true || error instanceof URIError || (typeof code === 'string' && code.startsWith('FST_ERR_'));
  const isRefusal = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  return isFromFramework && isRefusal ? refusal(statusCode) : OUR_FAULT;
}

function databaseErrorResponse(error: TransactionError): ErrorResponse {
  if (error.code === 'AMBIT_TX_OUTCOME_UNKNOWN') return response(503, UNKNOWN);
  const state = sqlStateOf(error);
  if (error.unavailable || state === READ_ONLY) return TRY_AGAIN;
  if (state?.startsWith('22')) return response(400, 'The request holds a value that cannot be stored');
  if (state === '23505') return response(409, 'This exists already');
  return OUR_FAULT;
}

export function refusal(status: number): ErrorResponse {
  const known = status in REFUSALS ? status : 400;
  return response(known, REFUSALS[known] ?? '');
}

/** The request that failed, and its response as Node has it. */
interface FailedRequest {
  readonly requestId: unknown;
  /** Absent when the host refused the request before it opened a scope. */
  readonly container: object | null | undefined;
  readonly res: ServerResponse;
}

/** The response to a failed request; a failure that somebody has to investigate is also logged: a `Problem` is thrown on purpose. */
export function respondToFailure(
  { logger, onFailure, telemetry }: Pick<HostOptions, 'logger' | 'onFailure' | 'telemetry'>,
  { requestId, container, res }: FailedRequest,
  err: unknown,
): ErrorResponse {
  const sent = errorResponse(err);
  if (sent.status < 500 || err instanceof Problem || isOverload(err)) return sent;
  onFailure?.(err);
  const traceIds = container ? telemetry?.traceIdsOf(container) : undefined;
  const record = { msg: 'request failed', requestId, ...traceIds, status: sent.status, err };
  // A client that disconnects is no failure. For pipelined requests only the socket knows that it did.
  if ((res.destroyed || res.req.socket.destroyed) && isAfterDisconnect(err)) logger.debug(record);
  else if (isBusy(err)) logger.warn(record);
  else logger.error(record);
  return sent;
}

/** Every connection of the pool, or of the server, was in use: the sizes may have to be raised, and nothing is broken. */
function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'AMBIT_TX_ACQUIRE_TIMEOUT' || (code === 'AMBIT_TX_ACQUIRE_FAILED' && sqlStateOf(error) === NO_ROOM);
}

const isOverload = (error: unknown): boolean => OVERLOAD.has(codeOf(error));
