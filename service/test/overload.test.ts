import type { ServerResponse } from 'node:http';
import { HttpError as ExpressError } from '@ambit/express';
import { HttpError as FastifyError } from '@ambit/fastify';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { TransactionError, type TransactionErrorCode } from '@ambit/transaction';
import { expect, test } from 'vitest';
import { errorResponse, isOurFault, respondToFailure } from '../src/http/response.js';

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

const NO_ROOM = { sqlState: '53300' };
test.each<[level: string[], code: TransactionErrorCode, why: string, options?: object]>([
  [[], 'AMBIT_TX_POOL_FULL', 'too many callers wait'],
  [[], 'AMBIT_TX_POOL_CLOSED', 'the service shuts down'],
  [['warn'], 'AMBIT_TX_ACQUIRE_TIMEOUT', 'every connection is in use'],
  [['warn'], 'AMBIT_TX_ACQUIRE_FAILED', 'PostgreSQL or MariaDB has no room for another connection', NO_ROOM],
  [['error'], 'AMBIT_TX_ACQUIRE_FAILED', 'the database is away'],
  [['error'], 'AMBIT_TX_CONNECTION_LOST', 'the connection broke'],
])('is logged as %j: %s, because %s', (expected, code, what, options) => {
  const levels: string[] = [];
  const log = (level: string) => () => void levels.push(level);
  const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  const res = { destroyed: false, req: { socket: { destroyed: false } } } as ServerResponse;
  const failed = { requestId: 'r1', container: undefined, res };
  const { status } = respondToFailure({ logger }, failed, new TransactionError(code, what, options));
  expect([status, levels]).toEqual([503, expected]);
});
