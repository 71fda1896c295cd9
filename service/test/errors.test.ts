import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Registration } from '@ambit/container';
import { HttpError } from '@ambit/http';
import { connectionLost, Happenings, Pause, requestText } from '@ambit/host-contract';
import { TransactionError, type TransactionErrorCode } from '@ambit/transaction';
import { describe, expect, test } from 'vitest';
import { respondToFailure } from '../src/http/response.js';
import { onEveryStage } from './support/every-stage.js';
import type { JsonResponse } from './support/http.js';
import { LogBook } from './support/log-book.js';
import { ordersAnd } from './support/replacements.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const KEY = { 'idempotency-key': 'a-key' };

const UNSTORABLE = 'The request holds a value that cannot be stored';
const OUR_FAULT = 'Internal Server Error';
const NOT_NOW = 'Service Unavailable: try again in a moment';
const UNKNOWN = 'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same';
const SECRET = 'relation "users" on host-17';

const byState = (sqlState: string): TransactionError =>
  new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'The statement failed', { sqlState, cause: new Error(SECRET) });
const byCode = (code: TransactionErrorCode): TransactionError =>
  new TransactionError(code, 'It failed', { cause: new Error(SECRET) });

const raise = (sqlState: string): string => `DO $$ BEGIN RAISE 'secret' USING ERRCODE = '${sqlState}'; END $$`;

const REFUSED_BY_POSTGRES: readonly (readonly [what: string, sql: string, status: number, error: string])[] = [
  ['text that is no number', `SELECT CAST('x' AS integer)`, 400, UNSTORABLE],
  ['a number too large', 'SELECT CAST(99999999999 AS integer)', 400, UNSTORABLE],
  ['a cancelled statement', 'SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(9)', 503, NOT_NOW],
  ['a backend that is terminated', 'SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(9)', 503, NOT_NOW],
  ['a serialisation failure', raise('40001'), 503, NOT_NOW],
  ['a deadlock', raise('40P01'), 503, NOT_NOW],
  ['an unknown table', 'SELECT * FROM nowhere', 500, OUR_FAULT],
];

const signal = (number: number, state = 'HY000'): string => `SIGNAL SQLSTATE '${state}' SET MYSQL_ERRNO = ${number}`;

const REFUSED_BY_MARIADB: typeof REFUSED_BY_POSTGRES = [
  ['text that is too long', `INSERT INTO users (id, name, email) VALUES (REPEAT('x', 37), '', '')`, 400, UNSTORABLE],
  ['a number too large', `INSERT INTO stock (product_id, level) VALUES ('x', 99999999999)`, 400, UNSTORABLE],
  ['a cancelled statement', 'KILL QUERY CONNECTION_ID()', 503, NOT_NOW],
  ['a session that is killed', 'KILL CONNECTION_ID()', 503, NOT_NOW],
  ['a statement that takes too long', 'SET STATEMENT max_statement_time = 0.05 FOR SELECT SLEEP(9)', 503, NOT_NOW],
  ['a deadlock', signal(1213, '40001'), 503, NOT_NOW],
  ['a lock that others hold', signal(1205), 503, NOT_NOW],
  ['a server that is read-only', `${signal(1290)}, MESSAGE_TEXT = 'It runs with --read-only'`, 503, NOT_NOW],
  ['a disk that is full', signal(1021), 503, NOT_NOW],
  ['a table that is full', signal(1114), 503, NOT_NOW],
  ['an unknown table', 'SELECT * FROM nowhere', 500, OUR_FAULT],
];
/** SQLite has nothing of the kind. */
const REFUSED = { postgres: REFUSED_BY_POSTGRES, mariadb: REFUSED_BY_MARIADB, sqlite: [] };

const ERRORS: readonly (readonly [what: string, error: unknown, status: number, words: string])[] = [
  ['an error of ours', new Error(SECRET), 500, OUR_FAULT],
  [
    'an error that claims to be a 404',
    Object.assign(new Error(SECRET), { status: 404, statusCode: 404 }),
    500,
    OUR_FAULT,
  ],
  ['text that is thrown', SECRET, 500, OUR_FAULT],
  ['text that does not fit (22001)', byState('22001'), 400, UNSTORABLE],
  ['a number that does not fit (22003)', byState('22003'), 400, UNSTORABLE],
  ['a duplicate (23505)', byState('23505'), 409, 'This exists already'],
  ['another broken constraint (23514)', byState('23514'), 500, OUR_FAULT],
  ['a serialisation failure (40001)', byState('40001'), 503, NOT_NOW],
  ['a deadlock (40P01)', byState('40P01'), 503, NOT_NOW],
  ['a cancelled statement (57014)', byState('57014'), 503, NOT_NOW],
  ['too many connections (53300)', byState('53300'), 503, NOT_NOW],
  ['a syntax error (42601)', byState('42601'), 500, OUR_FAULT],
  ['no free connection', byCode('AMBIT_TX_ACQUIRE_TIMEOUT'), 503, NOT_NOW],
  ['no connection', byCode('AMBIT_TX_ACQUIRE_FAILED'), 503, NOT_NOW],
  ['a busy file', byCode('AMBIT_TX_BUSY'), 503, NOT_NOW],
  ['a transaction open for too long', byCode('AMBIT_TX_TIMEOUT'), 503, NOT_NOW],
  ['an unknown outcome', byCode('AMBIT_TX_OUTCOME_UNKNOWN'), 503, UNKNOWN],
];

const seen = ({ status, headers, body }: JsonResponse<unknown>): object => ({
  status,
  body,
  again: headers.get('retry-after'),
  type: headers.get('content-type'),
});

const expected = (status: number, error: string): object => ({
  status,
  body: { error },
  again: error === NOT_NOW ? '1' : null,
  type: 'application/json; charset=utf-8',
});

onEveryStage((stage) => {
  describe.each(ERRORS)('%s', (_what, error, status, words) => {
    const fail = async (): Promise<never> => {
      throw error;
    };

    test(`outside a transaction gets ${status}`, async () => {
      stage.replace(Registration.fromValue({ findAll: fail, findById: fail, create: fail }).to('IUserRepository'));
      expect(seen(await stage.get('/api/users'))).toEqual(expected(status, words));
      expect(seen(await stage.get(`/api/users/${crypto.randomUUID()}`))).toEqual(expected(status, words));
      expect(seen(await stage.post('/api/users', ADA))).toEqual(expected(status, words));
    });

    test(`within a transaction gets ${status}`, async () => {
      stage.replace(ordersAnd(fail));
      expect(seen(await stage.post('/api/orders', ORDER))).toEqual(expected(status, words));
      expect(await stage.rows('SELECT id FROM orders')).toEqual([]);
    });
  });

  test('a lost connection gets 503; for a user that may have been stored, the outcome is unknown', async () => {
    const lose = () => Promise.reject(connectionLost());
    stage.replace(Registration.fromValue({ findAll: lose, findById: lose, create: lose }).to('IUserRepository'));
    expect(seen(await stage.get('/api/users'))).toEqual(expected(503, NOT_NOW));
    expect(seen(await stage.post('/api/users', ADA))).toEqual(expected(503, UNKNOWN));
    stage.replace(ordersAnd(lose));
    expect(seen(await stage.post('/api/orders', ORDER))).toEqual(expected(503, NOT_NOW));
  });

  test('a failure of the service is logged with its cause and the id of the request', async () => {
    const error = byState('42601');
    stage.replace(ordersAnd(() => Promise.reject(error)));
    const response = await stage.post('/api/orders', ORDER);
    const requestId = response.headers.get('x-request-id') ?? '';
    const record = await stage.app.log.finds({ msg: 'request failed', requestId });
    expect(record).toMatchObject({ level: 50, status: 500, requestId });
    expect(JSON.stringify(record)).toContain(JSON.stringify(SECRET).slice(1, -1));
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

  test('what fails after its client has disconnected is logged, however its causes are linked', async () => {
    const error = new Error('It went wrong');
    error.cause = error;
    const pause = new Pause();
    stage.replace(ordersAnd(() => pause.here().then(() => Promise.reject(error))));
    const client = await stage.app.client();
    client.send({ method: 'POST', path: '/api/orders', body: ORDER });
    await pause.reached;
    client.reset();
    await stage.app.log.finds({ msg: 'request aborted', path: '/api/orders' });
    pause.letGo();
    expect(await stage.app.log.finds({ msg: 'request failed' })).toMatchObject({ level: 50, status: 500 });
  });

  describe('an error of the real database', () => {
    test('a duplicate gets 409', async () => {
      stage.replace(ordersAnd((connection) => connection.query('INSERT INTO orders SELECT * FROM orders')));
      expect(seen(await stage.post('/api/orders', ORDER))).toEqual(expected(409, 'This exists already'));
    });

    test('a violated constraint gets 500', async () => {
      const sql = `INSERT INTO stock (product_id, level) VALUES ('x', -1)`;
      stage.replace(ordersAnd((connection) => connection.query(sql)));
      expect(seen(await stage.post('/api/orders', ORDER))).toEqual(expected(500, OUR_FAULT));
    });

    test.each(REFUSED[stage.kind.dialect])('%s gets its status', async (_what, sql, status, words) => {
      stage.replace(ordersAnd((connection) => connection.query(sql)));
      expect(seen(await stage.post('/api/orders', ORDER))).toEqual(expected(status, words));
      expect(await stage.rows('SELECT id FROM orders')).toEqual([]);
    });

    test('a connection that breaks gets 503, and the next request gets 201', async () => {
      let times = 0;
      stage.before('query', (connection) => (++times === 1 ? connection.die() : undefined));
      expect(seen(await stage.post('/api/orders', ORDER))).toEqual(expected(503, NOT_NOW));
      expect((await stage.post('/api/orders', ORDER)).status).toBe(201);
    });

    test('no free connection gets 503', async () => {
      stage.beforeAcquire(() => Promise.reject(byCode('AMBIT_TX_ACQUIRE_TIMEOUT')));
      expect(seen(await stage.post('/api/orders', ORDER))).toEqual(expected(503, NOT_NOW));
      expect(seen(await stage.post('/api/users', ADA, KEY))).toEqual(expected(503, NOT_NOW));
    });

    test.each(['/api/users', '/api/orders'])(
      'a COMMIT at %s without a result is reported as an unknown outcome',
      async (path) => {
        stage.after('commit', () => Promise.reject(connectionLost()));
        expect(seen(await stage.post(path, { ...ADA, ...ORDER }, KEY))).toEqual(expected(503, UNKNOWN));
        stage.after('commit', () => undefined);
        const truth = await stage.post(path, { ...ADA, ...ORDER }, KEY);
        expect(truth.status).toBe(201);
        expect(truth.headers.get('idempotency-replayed')).toBe('true');
        stage.after('commit', () => Promise.reject(connectionLost()));
        const lost = await stage.post(path, { ...ADA, ...ORDER }, KEY);
        expect(seen(lost)).toEqual(expected(503, UNKNOWN));
        expect(lost.headers.has('idempotency-replayed')).toBe(false);
      },
    );
  });
});

describe('after its client has disconnected, what a request fails with', () => {
  const logged = (error: unknown): unknown[] => {
    const { logger, records } = new LogBook(new Happenings());
    const res = new ServerResponse(new IncomingMessage(new Socket())).destroy();
    respondToFailure({ logger }, { requestId: 'r1', container: undefined, res }, error);
    return records.map(({ level }) => level);
  };

  test.each(['AMBIT_HTTP_CLIENT_DISCONNECTED', 'AMBIT_DISPOSED'] as const)(
    'is no error of the service if %s caused it',
    (code) => expect(logged(new Error('The query failed', { cause: new HttpError(code) }))).toEqual([20]),
  );

  test('is one for any other reason', () => expect(logged(new Error('It went wrong'))).toEqual([50]));
});
