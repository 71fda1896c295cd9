import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Registration } from '@ambit/container';
import { HttpError } from '@ambit/http';
import { connectionLost, Happenings, requestText } from '@ambit/test-kit';
import { TransactionError, type TransactionErrorCode } from '@ambit/transaction';
import { expect, test } from 'vitest';
import { errorResponse, respondToFailure } from '../src/http/response.js';
import { onBothHosts } from './support/stage.js';
import { LogBook, type LogRecord } from './support/log-book.js';
import { ordersAnd } from './support/replacements.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };

const UNSTORABLE = 'The request holds a value that cannot be stored';
const OUR_FAULT = 'Internal Server Error';
const NOT_NOW = 'Service Unavailable: try again in a moment';
const UNKNOWN = 'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same';
const SECRET = 'relation "users" on host-17';

const byState = (sqlState: string): TransactionError =>
  new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'The statement failed', { sqlState, cause: new Error(SECRET) });
const byCode = (code: TransactionErrorCode, options = {}): TransactionError =>
  new TransactionError(code, 'It failed', { cause: new Error(SECRET), ...options });

/** With the level at which each is logged, if at all. */
const ERRORS: readonly (readonly [what: string, error: unknown, status: number, words: string, level?: number])[] = [
  ['an error of ours', new Error(SECRET), 500, OUR_FAULT, 50],
  ['an error that claims to be a 404', Object.assign(new Error(SECRET), { statusCode: 404 }), 500, OUR_FAULT, 50],
  ['an address that a handler cannot decode', new URIError(SECRET), 500, OUR_FAULT, 50],
  ['text that is thrown', SECRET, 500, OUR_FAULT, 50],
  ['text that does not fit (22001)', byState('22001'), 400, UNSTORABLE],
  ['a duplicate (23505)', byState('23505'), 409, 'This exists already'],
  ['another broken constraint (23514)', byState('23514'), 500, OUR_FAULT, 50],
  ['a syntax error (42601)', byState('42601'), 500, OUR_FAULT, 50],
  ['a serialisation failure (40001)', byState('40001'), 503, NOT_NOW, 50],
  ['a deadlock (40P01)', byState('40P01'), 503, NOT_NOW, 50],
  ['a cancelled statement (57014)', byState('57014'), 503, NOT_NOW, 50],
  ['a read-only server (25006)', byState('25006'), 503, NOT_NOW, 50],
  ['no free connection', byCode('AMBIT_TX_ACQUIRE_TIMEOUT'), 503, NOT_NOW, 40],
  ['a server with too many connections', byCode('AMBIT_TX_ACQUIRE_FAILED', { sqlState: '53300' }), 503, NOT_NOW, 40],
  ['no connection', byCode('AMBIT_TX_ACQUIRE_FAILED'), 503, NOT_NOW, 50],
  ['a lost connection', byCode('AMBIT_TX_CONNECTION_LOST'), 503, NOT_NOW, 50],
  ['a busy file', byCode('AMBIT_TX_BUSY'), 503, NOT_NOW, 50],
  ['a transaction open for too long', byCode('AMBIT_TX_TIMEOUT'), 503, NOT_NOW, 50],
  ['an unknown outcome', byCode('AMBIT_TX_OUTCOME_UNKNOWN'), 503, UNKNOWN, 50],
  ['too many requests', new HttpError('AMBIT_HTTP_OVERLOADED'), 503, NOT_NOW],
  ['too many that wait for a connection', byCode('AMBIT_TX_POOL_FULL'), 503, NOT_NOW],
  ['a pool that shuts down', byCode('AMBIT_TX_POOL_CLOSED'), 503, NOT_NOW],
];

/** The log records of a failed request. */
function logged(error: unknown, res: ServerResponse): LogRecord[] {
  const { logger, records } = new LogBook(new Happenings());
  respondToFailure({ logger }, { requestId: 'r1', container: undefined, res }, error);
  return records;
}

const response = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

test.each(ERRORS)('%s gets its status, and a level in the log', (_what, error, status, words, level) => {
  const headers = words === NOT_NOW ? { 'retry-after': '1' } : {};
  expect(errorResponse(error)).toEqual({ status, headers, body: { error: words } });
  expect(logged(error, response()).map((record) => record['level'])).toEqual(level === undefined ? [] : [level]);
});

test.each([
  ['no error of the service if that caused it', new HttpError('AMBIT_HTTP_CLIENT_DISCONNECTED'), 20],
  ['one for any other reason', new Error('It went wrong'), 50],
])('a failure after the client has disconnected is %s', (_what, cause, level) => {
  const error = new Error('The query failed', { cause });
  expect(logged(error, response().destroy())).toMatchObject([{ level }]);
});

onBothHosts((stage) => {
  test('a failure of the service is logged with its cause and the id of the request, and the client sees neither', async () => {
    const fail = () => Promise.reject(byState('42601'));
    stage.replace(
      ordersAnd(fail),
      Registration.fromValue({ findAll: fail, findById: fail, create: fail }).to('IUserRepository'),
    );
    const responses = [
      await stage.get('/api/users'),
      await stage.get(`/api/users/${crypto.randomUUID()}`),
      await stage.post('/api/users', ADA),
      await stage.post('/api/orders', ORDER),
    ];
    for (const { status, body, headers } of responses) {
      expect([status, body]).toEqual([500, { error: OUR_FAULT }]);
      const requestId = headers.get('x-request-id');
      const record = await stage.app.log.finds({ msg: 'request failed', requestId });
      expect(record).toMatchObject({ level: 50, status: 500 });
      expect(JSON.stringify(record)).toContain(JSON.stringify(SECRET).slice(1, -1));
    }
  });

  test('a connection that is lost while a user is stored without a transaction is an unknown outcome', async () => {
    const lose = () => Promise.reject(connectionLost());
    stage.replace(Registration.fromValue({ findAll: lose, findById: lose, create: lose }).to('IUserRepository'));
    expect(await stage.get('/api/users')).toMatchObject({ status: 503, body: { error: NOT_NOW } });
    expect(await stage.post('/api/users', ADA)).toMatchObject({ status: 503, body: { error: UNKNOWN } });
  });

  test('a failure of the client is not logged as a failure', async () => {
    expect((await stage.post('/api/users', {})).status).toBe(400);
    expect((await stage.get(`/api/users/${crypto.randomUUID()}`)).status).toBe(404);
    await stage.app.log.finds({ msg: 'request', status: 404 });
    expect(stage.app.log.records.filter(({ msg }) => msg === 'request failed')).toEqual([]);
  });

  test('a body that is announced as too large is refused before its client sends it', async () => {
    const client = await stage.app.client();
    const headers = { 'content-type': 'application/json', 'content-length': '2000000', expect: '100-continue' };
    client.write(requestText({ method: 'POST', path: '/api/users', headers }));
    const { status, headers: received, text } = await client.response();
    expect([status, JSON.parse(text)]).toEqual([413, { error: 'The body is too large' }]);
    expect(received['connection']).toBe('close');
    await client.closed();
    expect(client.unread).toBe('');
  });
});
