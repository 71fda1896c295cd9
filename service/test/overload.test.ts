import { HttpError as ExpressError } from '@ambit/express';
import { HttpError as FastifyError } from '@ambit/fastify';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { expect, test } from 'vitest';
import { errorResponse, isOurFault } from '../src/http/error-response.js';

test.each([
  ['Express', ExpressError],
  ['Fastify', FastifyError],
])(
  'a request that %s refuses because too many are in progress is answered with 503, and is no failure',
  (_host, HttpError) => {
    const error = new HttpError('AMBIT_HTTP_OVERLOADED');
    const answer = errorResponse(error);
    expect(answer).toEqual({
      status: 503,
      headers: { 'retry-after': '1' },
      body: { error: 'Service Unavailable: try again in a moment' },
    });
    expect(isOurFault(error, answer)).toBe(false);
  },
);

test('a request for which the pool has no place in its queue is answered with 503 at once, and is no failure', async () => {
  await using pool = createSqlitePool({ path: ':memory:', maxWaiting: 0 });
  const held = await pool.getConnection();
  const error: unknown = await pool.getConnection().catch((refusal: unknown) => refusal);
  held.release();
  const answer = errorResponse(error);
  expect(answer).toEqual({
    status: 503,
    headers: { 'retry-after': '1' },
    body: { error: 'Service Unavailable: try again in a moment' },
  });
  expect(isOurFault(error, answer)).toBe(false);
});
