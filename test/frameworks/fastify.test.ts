import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { containerPlugin, problemOf, transactionPlugin } from '@ambit/fastify';
import fastifyCompress from '@fastify/compress';
import fastifyCookie from '@fastify/cookie';
import fastifyMultipart from '@fastify/multipart';
import fastifySession, { type SessionStore } from '@fastify/session';
import fastifyStatic from '@fastify/static';
import { fastify, type FastifyInstance, type FastifyReply } from 'fastify';
import { afterAll } from 'vitest';
import { type Application, type Middleware, middlewareContract, type Running } from './contract.js';
import {
  ACCEPTS_GZIP,
  BLOCKS_OF_ROWS,
  FILE_REQUESTS,
  makeFiles,
  MANY_ROWS,
  requestsTo,
  ROW,
  rowsInTime,
  UPLOAD,
} from './fixtures.js';

const handlers: Record<string, (reply: FastifyReply) => unknown> = {
  '/json': (reply) => reply.code(201).send({ rows: [ROW] }),
  '/head': (reply) => reply.code(201).headers({ 'content-type': 'text/plain', 'content-length': ROW.length }).send(ROW),
  '/empty': (reply) => reply.code(204).send(),
  '/not-modified': (reply) => reply.code(304).send(),
  '/large': (reply) => reply.type('text/plain').send(MANY_ROWS),
  '/bytes': (reply) => reply.type('text/plain').send(Buffer.from(ROW)),
  '/pipeline': (reply) => reply.type('text/plain').send(Readable.from(BLOCKS_OF_ROWS)),
  '/writes': (reply) => reply.type('text/plain').send(Readable.from(rowsInTime())),
  '/web': () => new Response(ROW, { status: 201, headers: { 'content-type': 'text/plain' } }),
};
const fileHandlers: typeof handlers = {
  '/file.txt': (reply) => reply.sendFile('file.txt'),
  '/large.txt': (reply) => reply.sendFile('large.txt'),
};

class SlowStore implements SessionStore {
  readonly #sessions = new Map<string, Parameters<SessionStore['set']>[1]>();

  set: SessionStore['set'] = (id, session, done) => {
    this.#sessions.set(id, session);
    setTimeout(() => done(), 10);
  };

  get: SessionStore['get'] = (id, done) => done(null, this.#sessions.get(id) ?? null);

  destroy: SessionStore['destroy'] = (id, done) => {
    this.#sessions.delete(id);
    done();
  };
}

const files = makeFiles();
afterAll(() => files.remove());

type Register = (app: FastifyInstance) => Promise<unknown>;

const store: Register = async (app) => {
  await app.register(fastifyCookie);
  await app.register(fastifySession, {
    secret: 'a secret of at least thirty-two characters',
    idGenerator: () => 'an-id',
    cookie: { secure: false },
    store: new SlowStore(),
  });
};

const middlewares: readonly Middleware<Register>[] = [
  {
    name: '@fastify/compress',
    use: () => async (app) => app.register(fastifyCompress, { threshold: 0 }),
    request: ACCEPTS_GZIP,
  },
  {
    name: '@fastify/compress of what is long',
    use: () => async (app) => app.register(fastifyCompress),
    request: ACCEPTS_GZIP,
  },
  { name: '@fastify/session', use: () => store },
  {
    name: '@fastify/multipart',
    use: () => async (app) => app.register(fastifyMultipart, { attachFieldsToBody: true }),
    request: UPLOAD,
  },
  {
    name: '@fastify/static',
    use: () => async (app) => app.register(fastifyStatic, { root: files.folder, serve: false }),
    requests: FILE_REQUESTS,
  },
  {
    name: 'two of them',
    use: () => async (app) => {
      await store(app);
      await app.register(fastifyCompress, { threshold: 0 });
    },
    request: ACCEPTS_GZIP,
  },
];

async function start({ middleware, transaction, work, onError }: Application<Register>): Promise<Running> {
  const app = fastify();
  app.get('/ping', async () => 'pong');
  if (transaction?.middlewareIs !== 'behind') await middleware(app);
  if (transaction) {
    await app.register(containerPlugin, { container: transaction.container });
    await app.register(transactionPlugin, { endTimeoutMs: transaction.endTimeoutMs });
  }
  if (transaction?.middlewareIs === 'behind') await middleware(app);
  app.setErrorHandler((error, _request, reply) => {
    onError(error);
    const { status, headers, body } = problemOf(error);
    return reply.code(status).headers(headers).send(body);
  });
  for (const [url, handle] of Object.entries({ ...handlers, ...fileHandlers })) {
    app.route({
      method: ['GET', 'POST'],
      url,
      config: { transaction: transaction !== undefined },
      handler: async (request, reply) => {
        await work(request.transactionScope);
        return handle(reply);
      },
    });
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}

middlewareContract({
  name: 'Fastify',
  middlewares,
  requests: requestsTo(handlers),
  start,
});
