import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server, type IncomingHttpHeaders } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Container, type ScopeOptions } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { type IConnection, TransactionError } from '@ambit/transaction';
import { FakePool, type FakePoolOptions } from '@ambit/transaction/testing';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createHandler,
  drain,
  type Handler,
  HttpError,
  requireTransactionScope,
  withTransaction,
} from '../src/index.js';
import { ConnectedRequest, RequestHost } from '../src/node.js';

const running: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

function application(options?: FakePoolOptions) {
  const pool = new FakePool(options);
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => pool);
  return { container, pool };
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  running.push(() => drain(server));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** What the handler does with its connection before it goes on. */
const store = async (...[req]: Parameters<Handler>): Promise<void> =>
  void (await requireTransactionScope(req).resolve<IConnection>('IConnection').query('order'));

const printed = () => vi.spyOn(console, 'error').mockImplementation(() => undefined);

describe('createHandler()', () => {
  test.each([{ statusCode: 404 }, { status: 404 }])(
    'responds with the status of an error that has one, and prints nothing: %o',
    async (own) => {
      const print = printed();
      const handler: Handler = () => {
        throw Object.assign(new Error('secret'), own);
      };
      const response = await fetch(await serve(createHandler(application().container, handler)));
      expect([response.status, await response.json()]).toEqual([404, { error: 'Not Found' }]);
      expect(print).not.toHaveBeenCalled();
      print.mockRestore();
    },
  );

  test.each([
    ['AMBIT_TX_POOL_CLOSED', '1'],
    ['AMBIT_TX_OUTCOME_UNKNOWN', null],
  ] as const)('responds to %s with 503 and Retry-After: %s', async (code, retryAfter) => {
    const handler: Handler = () => {
      throw new TransactionError(code, 'The database is away');
    };
    const response = await fetch(await serve(createHandler(application().container, handler)));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, retryAfter]);
  });

  test('responds with the length of the error, whatever the handler had said of its response', async () => {
    const print = printed();
    const handler: Handler = (_req, res) => {
      res.setHeader('content-length', 5);
      res.statusMessage = 'Made';
      throw new Error('secret');
    };
    const response = await fetch(await serve(createHandler(application().container, handler)));
    expect([response.status, response.statusText, await response.json()]).toEqual([
      500,
      'Internal Server Error',
      { error: 'Internal Server Error' },
    ]);
    print.mockRestore();
  });

  test('leaves the response to onError, and responds 500 where onError fails', async () => {
    const print = printed();
    const handler: Handler = ({ url }) => {
      throw new Error(url);
    };
    const url = await serve(
      createHandler(application().container, handler, {
        onError: (error, req, res) => {
          if (req.url === '/fails') throw error;
          res.writeHead(418).end((error as Error).message);
        },
      }),
    );
    const [own, failed] = [await fetch(url), await fetch(`${url}fails`)];
    expect([own.status, await own.text(), failed.status]).toEqual([418, '/', 500]);
    print.mockRestore();
  });

  test('registers the signals of a request where the container opens scopes with no more than tags', async () => {
    class OwnContainer extends Container {
      override createScope({ tags }: ScopeOptions): Container {
        return super.createScope({ tags: tags ?? [] });
      }
    }
    const handler: Handler = (_req, res, scope) => {
      res.end(String([scope.resolve('IRequestSignal').aborted, scope.resolve('IShutdownSignal').aborted]));
    };
    const response = await fetch(await serve(createHandler(new OwnContainer(), handler)));
    expect(await response.text()).toBe('false,false');
  });

  test('refuses an invalid option', () => {
    const { container } = application();
    const handler: Handler = () => undefined;
    expect(() => createHandler({} as Container, handler)).toThrow(HttpError);
    expect(() => createHandler(container, handler, { maxRequests: 0 })).toThrow('AMBIT_OPTION');
    expect(() => createHandler(container, handler, { isEssential: true as never })).toThrow('AMBIT_OPTION');
    expect(() => createHandler(container, handler, { onDisposeError: 'log' as never })).toThrow('AMBIT_OPTION');
    expect(() => withTransaction(handler, { onError: 'log' as never })).toThrow('AMBIT_OPTION');
    expect(() => withTransaction(handler, { timeoutMs: -1 })).toThrow('AMBIT_OPTION');
    expect(() => withTransaction(handler, { isolation: 'snapshot' as never })).toThrow('AMBIT_OPTION');
  });
});

describe('withTransaction()', () => {
  test('refuses to run twice for one request', async () => {
    const { container, pool } = application();
    const url = await serve(createHandler(container, withTransaction(withTransaction(() => undefined))));
    const response = await fetch(url);
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
      500,
      expect.stringContaining('AMBIT_TX_ALREADY_OPEN'),
    ]);
    expect([pool.out, pool.stored]).toEqual([0, []]);
  });

  test('refuses a response that has begun before it, which could not wait for COMMIT', async () => {
    const { container, pool } = application();
    const failures: unknown[] = [];
    const transaction = withTransaction(store);
    const handler: Handler = (req, res, scope) => {
      res.flushHeaders();
      return transaction(req, res, scope);
    };
    const onError = (error: unknown, _req: unknown, res: { end(): unknown }): void => {
      failures.push(error);
      res.end();
    };
    await (await fetch(await serve(createHandler(container, handler, { onError })))).text();
    expect(failures).toMatchObject([{ code: 'AMBIT_HTTP_HEAD_SENT' }]);
    expect(pool.stored).toEqual([]);
  });

  test('reports a second response to onSecondResponse, and what fails after the first to onError', async () => {
    const { container, pool } = application();
    const reported: unknown[] = [];
    const handler = withTransaction(
      async (...call) => {
        await store(...call);
        call[1].end('first');
        call[1].end('second');
        throw new Error('too late');
      },
      { onSecondResponse: (error) => reported.push(error) },
    );
    const url = await serve(createHandler(container, handler, { onError: (error) => reported.push(error) }));
    expect(await (await fetch(url)).text()).toBe('first');
    expect(reported).toMatchObject([{ code: 'AMBIT_HTTP_RESPONSE_DROPPED' }, { message: 'too late' }]);
    expect(pool.stored).toEqual(['order']);
  });

  test('holds a response of HTTP/2 back until COMMIT, and drain() closes its session', async () => {
    const { container, pool } = application();
    const handler = withTransaction(async (...call) => {
      await store(...call);
      call[1].setHeader('x-stored', pool.stored.length);
      call[1].end('done');
    });
    const server = createHttp2Server(createHandler(container, handler)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const stream = session.request({ ':path': '/' });
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect([headers[':status'], headers['x-stored'], await text(stream), pool.stored]).toEqual([
      200,
      '0',
      'done',
      ['order'],
    ]);
    await Promise.all([once(session, 'close'), drain(server)]);
    await vi.waitFor(() => expect(openScopes(container)).toEqual([]), 120_000);
  });
});

test.each(['leave', 'disconnect'] as const)('%s() completes a request on its connection, once', async (method) => {
  const app = new Container({ tags: ['application'] });
  const host = RequestHost.over(app, {}, 'test()');
  const completed: unknown[] = [];
  const server = createServer((req, res) => {
    const request = new ConnectedRequest(req, res, host);
    request.onCompleted(() => completed.push(request.isOut));
    request.open(() => {
      const { signal } = request;
      request[method]();
      const { reason } = signal;
      request[method]();
      request.complete(true);
      completed.push(signal.aborted, signal.reason === reason, request.disconnectReason === reason);
      completed.push(ConnectedRequest.ofResponse(req, res));
      res.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(completed).toEqual([true, true, true, true, undefined]);
  expect(openScopes(app)).toEqual([]);
  server.close();
});

const TOO_LATE = 'HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n';

/** The response to a client whose body never comes, from a server that waits 2 s for it and responds as applications do. */
async function responseTo(handle: (res: ServerResponse) => void): Promise<string> {
  const container = new Container({ tags: ['application'] });
  const times = { requestTimeout: 2000, headersTimeout: 2000, connectionsCheckingInterval: 20 };
  const server = createServer(
    times,
    createHandler(container, (_req, res) => handle(res)),
  );
  server.on('clientError', (_error, socket) => void socket.end(TOO_LATE));
  server.listen(0, '127.0.0.1');
  onTestFinished(() => container.dispose());
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  client.setEncoding('latin1').on('data', (part) => (received += part));
  client.write('POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 10\r\n\r\n12345');
  await once(client, 'close');
  return received;
}

test('a body that comes too late gets 408', async () => {
  expect(await responseTo(() => undefined)).toBe(TOO_LATE);
});

test('a body that comes too late cuts the response that has begun, and no 408 is written into it', async () => {
  const received = await responseTo(
    (res) => void res.writeHead(200, { 'transfer-encoding': 'chunked' }).write('first'),
  );
  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n5\r\nfirst\r\n$/);
});
