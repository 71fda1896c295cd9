import { TransactionError } from '@ambit/transaction';
import { expect, test } from 'vitest';
import { HTTP_ERROR_CODES, HttpError, responseTo } from '../src/request/index.js';

test.each(HTTP_ERROR_CODES)('%s has a message of its own, a link to its documentation and a status', (code) => {
  const error = new HttpError(code, 'POST /');
  const status = ['AMBIT_DRAINING', 'AMBIT_HTTP_OVERLOADED'].includes(code) ? 503 : 500;
  expect(error).toMatchObject({ name: 'HttpError', code, status, statusCode: status });
  expect(error.message).toMatch(new RegExp(`.{20,}: POST / \\[npx ambit explain ${code}\\]$`));
});

test('the message that the specification fixes stands alone', () => {
  expect(new HttpError('AMBIT_HTTP_NO_TRANSACTION').message).toBe('No transaction in progress');
});

test.each<[what: string, error: unknown, response: object]>([
  ['an Error', new Error('secret'), { status: 500, retryAfter: undefined, isExpected: false }],
  ['nothing', undefined, { status: 500, retryAfter: undefined, isExpected: false }],
  ['a status', { status: 404 }, { status: 404, retryAfter: undefined, isExpected: true }],
  ['a statusCode', { statusCode: 404 }, { status: 404, retryAfter: undefined, isExpected: true }],
  ['both', { status: 404, statusCode: 418 }, { status: 418, retryAfter: undefined, isExpected: true }],
  ['a status that is no error', { status: 302 }, { status: 500, retryAfter: undefined, isExpected: false }],
  ['a fraction', { statusCode: 404.5 }, { status: 500, retryAfter: undefined, isExpected: false }],
  ['a status and a useless statusCode', { status: 404, statusCode: 200 }, { status: 404, isExpected: true }],
  ['a 503 of others', { status: 503 }, { status: 503, retryAfter: undefined, isExpected: false }],
  ['something unavailable', { unavailable: true }, { status: 503, retryAfter: 1, isExpected: true }],
  ['a crowd', new HttpError('AMBIT_HTTP_OVERLOADED'), { status: 503, retryAfter: 1, isExpected: true }],
  [
    'a closed pool',
    new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool is closed'),
    { status: 503, retryAfter: 1, isExpected: true },
  ],
  [
    'a conflict of transactions',
    new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'It failed', { cause: { code: '40001' } }),
    { status: 503, retryAfter: 1, isExpected: true },
  ],
  [
    'an unknown outcome',
    new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'The connection was lost'),
    { status: 503, retryAfter: undefined, isExpected: true },
  ],
])('the response to %s', (_what, error, response) => expect(responseTo(error)).toMatchObject(response));
