import { sqlStateOf, TransactionError } from '@ambit/transaction';
import { Problem } from '../problem.js';
import type { ErrorBody } from './error-body.js';

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
}

const AGAIN = { 'retry-after': '1' };
const OVERLOAD: ReadonlySet<unknown> = new Set(['AMBIT_HTTP_OVERLOADED', 'AMBIT_TX_POOL_FULL']);
const TRY_AGAIN = 'Service Unavailable: try again in a moment';

/** What the frameworks refuse by themselves, in words of ours, so that both hosts say the same. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request is malformed',
  408: 'The request took too long to arrive',
  415: 'The body must be sent as application/json in UTF-8',
  417: 'The expectation cannot be met',
  431: 'The header fields are too large',
};

/** The one place where an error becomes an answer. Nothing of a driver's or a library's text gets through. */
export function answerTo(error: unknown): ErrorAnswer {
  if (error instanceof Problem) return answer(error.status, error.message, error.headers);
  if (error instanceof TransactionError) return databaseAnswer(error);
  if (isOverload(error)) return answer(503, TRY_AGAIN, AGAIN);
  const status = refusalOf(error);
  if (status !== undefined) return refusal(status);
  return answer(500, 'Internal Server Error');
}

export function refusal(status: number): ErrorAnswer {
  const known = status in REFUSALS ? status : 400;
  return answer(known, REFUSALS[known] ?? '');
}

/** A failure that somebody has to look into; a `Problem` is said on purpose. */
export function isOurFault(error: unknown, { status }: ErrorAnswer): boolean {
  return status >= 500 && !(error instanceof Problem) && !isOverload(error);
}

/** Refused at once, on purpose: the host has as many requests in progress, or the pool as many callers, as it takes on. */
function isOverload(error: unknown): boolean {
  return OVERLOAD.has((Object(error) as { code?: unknown }).code);
}

function databaseAnswer(error: TransactionError): ErrorAnswer {
  const state = sqlStateOf(error);
  if (error.code === 'AMBIT_TX_OUTCOME_UNKNOWN') {
    // No Retry-After: what asks again by itself would do it twice where no key was given.
    return answer(
      503,
      'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same',
    );
  }
  // A server that only reads: a standby, until connections go to the primary again.
  if (error.unavailable || state === '25006') return answer(503, TRY_AGAIN, AGAIN);
  if (state?.startsWith('22')) return answer(400, 'The request holds a value that cannot be stored');
  if (state === '23505') return answer(409, 'This exists already');
  return answer(500, 'Internal Server Error');
}

/** Fastify and Express mark what they refuse themselves; a status on any other error means nothing to us. */
function refusalOf(error: unknown): number | undefined {
  const { code, expose, status, statusCode = status } = (error ?? {}) as Record<string, unknown>;
  const fromFramework = expose === true || (typeof code === 'string' && code.startsWith('FST_ERR_'));
  const isRefusal = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  return fromFramework && isRefusal ? statusCode : undefined;
}

function answer(status: number, error: string, headers: ErrorAnswer['headers'] = {}): ErrorAnswer {
  return { status, headers, body: { error } };
}
