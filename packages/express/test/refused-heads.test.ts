import { signal } from '@ambit/test-kit';
import type { RequestHandler, Response } from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withTransaction } from '../src/index.js';
import { respondToError, application, expectAllEnded, serve, store } from './support/app.js';
import { older } from './support/versions.js';

const strict = (res: Response): Response => Object.assign(res, { strictContentLength: true });

/** Each is refused by Node: where the handler stands, if there is no transaction. */
const refused: readonly [name: string, respond: (res: Response) => unknown][] = [
  ['a header of writeHead()', (res) => res.writeHead(201, { 'x-name': 'a\nb' }).end()],
  ['a header of writeHead(), in a list', (res) => res.writeHead(201, ['x-name', 'a\nb']).end()],
  ['the name of a header of writeHead()', (res) => res.writeHead(201, { 'x name': 'a' }).end()],
  ['the reason of writeHead()', (res) => res.writeHead(201, 'Größe →').end()],
  ['the status of writeHead()', (res) => res.writeHead(1000).end()],
  ['the same head twice', (res) => res.writeHead(201).writeHead(201).end()],
  ['a second head', (res) => res.writeHead(200).writeHead(201).end()],
  ['a second head with headers', (res) => res.writeHead(200).writeHead(200, { 'x-name': 'a' }).end()],
  ['the reason', (res) => Object.assign(res, { statusMessage: 'Größe →' }).json('done')],
  ['the reason before a stream', (res) => Object.assign(res, { statusMessage: 'Größe →' }).write('do')],
  ['the reason of flushHeaders()', (res) => Object.assign(res, { statusMessage: 'Größe →' }).flushHeaders()],
  ['the status of flushHeaders()', (res) => Object.assign(res, { statusCode: 1000 }).flushHeaders()],
  ['trailers behind a body of known length', (res) => res.set('Trailer', 'x-sum').json('done')],
  ['a body that is longer than its length', (res) => strict(res).set('Content-Length', '2').end('done')],
  ['a body that is shorter than its length', (res) => strict(res).set('Content-Length', '9').end('done')],
  ['nothing to write', (res) => res.write(undefined)],
  ['null to write', (res) => res.write(null)],
];

/** Each is sent by Node, though some of it is unusual. */
const sent: readonly [name: string, respond: (res: Response) => unknown, status: number, reason: string][] = [
  ['a reason', (res) => Object.assign(res.status(201), { statusMessage: 'Made' }).json('done'), 201, 'Made'],
  ['a reason of writeHead()', (res) => res.writeHead(201, 'Made', ['x-more', '1']).end('"done"'), 201, 'Made'],
  ['a body of the length it should have', (res) => strict(res).set('Content-Length', '6').end('"done"'), 200, 'OK'],
  [
    'trailers',
    (res) => [res.set('Trailer', 'x-sum').write('"do'), res.addTrailers({ 'x-sum': '1' }), res.end('ne"')],
    200,
    'OK',
  ],
];

describe('what Node refuses of a head', () => {
  it.each(refused)('%s: it refuses in the handler, which is rolled back', async (_name, respond) => {
    const { app, pool, container } = application();
    const failures: unknown[] = [];
    app.post('/', withTransaction(), async (req, res) => {
      await store(req, 'order');
      try {
        respond(res);
      } catch (error) {
        failures.push(error);
        throw error;
      }
    });
    app.use(respondToError);
    const { post, close } = await serve(app);
    const response = await post('/');
    expect([response.status, await response.json()]).toEqual([500, { error: expect.any(String) }]);
    expect(failures).toEqual([expect.objectContaining({ code: expect.stringMatching('^ERR_') })]);
    await close();
    await expectAllEnded({ container, pool });
    expect(pool.stored).toEqual([]);
  });

  it.each(sent)('is not %s', async (_name, respond, status, reason) => {
    const { app, pool } = application();
    app.post('/', withTransaction(), async (req, res) => {
      await store(req, 'order');
      respond(res);
    });
    const response = await (await serve(app)).post('/');
    expect([response.status, response.statusText, await response.json()]).toEqual([status, reason, 'done']);
    expect(pool.stored).toEqual(['order']);
  });

  it.each(older.slice(0, 1))('is not a status in text, which %s hands on', async (_version, create) => {
    const asked = signal<unknown>();
    const { pool, container } = application();
    const app = create().use(containerMiddleware(container));
    const rollbackOn = (status: number): boolean => {
      asked.resolve(status);
      return false;
    };
    const handler: RequestHandler = async (req, res) => {
      await store(req, 'order');
      res.status('201' as unknown as number).json('done');
    };
    app.post('/', withTransaction({ rollbackOn }), handler);
    app.use(respondToError);
    expect((await (await serve(app)).post('/')).status).toBe(201);
    expect(await asked.promise).toBe(201);
    expect(pool.stored).toEqual(['order']);
  });

  it('leaves the head as it was to a handler that knows another', async () => {
    const { app } = application();
    app.post('/', withTransaction(), (_req, res) => {
      res.set('Content-Type', 'image/png');
      expect(() => res.writeHead(202, { 'content-disposition': 'a\nb' })).toThrow();
      res.writeHead(202, { 'content-disposition': 'a' }).end('done');
    });
    const { status, headers } = await (await serve(app)).post('/');
    expect([status, headers.get('content-type'), headers.get('content-disposition')]).toEqual([202, 'image/png', 'a']);
  });

  it('is asked without refusing the handler a second time', async () => {
    let times = 0;
    const { app } = application();
    const left = signal();
    app.post('/', withTransaction(), (_req, res) => {
      res.statusMessage = 'Made';
      res.end('done', () => {
        times += 1;
        left.resolve();
      });
    });
    const { post, close } = await serve(app);
    expect(await (await post('/')).text()).toBe('done');
    await left.promise;
    await close();
    expect(times).toBe(1);
  });
});
