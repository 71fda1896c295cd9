import { HttpError as ExpressError } from '@ambit/express';
import { HttpError as FastifyError } from '@ambit/fastify';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { expect, test } from 'vitest';
import { errorResponse, isOurFault } from '../src/http/response.js';

test.each([
  ['Express', ExpressError],
  ['Fastify', FastifyError],
])(
  'a request that %s refuses because too many are in progress gets 503, and is not logged as a failure',
  (_host, HttpError) => {
    const error = new HttpError('AMBIT_HTTP_OVERLOADED');
    const response = errorResponse(error);
    expect(response).toEqual({
      status: 503,
      headers: { 'retry-after': '1' },
      body: { error: 'Service Unavailable: try again in a moment' },
    });
    expect(isOurFault(error, response)).toBe(false);
  },
);

test('a request for which the queue of the pool is full gets 503 at once, and is not logged as a failure', async () => {
  await using pool = createSqlitePool({ path: ':memory:', maxWaiting: 0 });
  const held = await pool.getConnection();
  const error: unknown = await pool.getConnection().catch((refusal: unknown) => refusal);
  held.release();
  const response = errorResponse(error);
  expect(response).toEqual({
    status: 503,
    headers: { 'retry-after': '1' },
    body: { error: 'Service Unavailable: try again in a moment' },
  });
  expect(isOurFault(error, response)).toBe(false);
});
