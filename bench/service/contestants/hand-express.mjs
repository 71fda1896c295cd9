import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import express from 'express';
import { v7 } from 'uuid';
import { logLine, newOrderSchema, newUserSchema, openLog } from '../hand-written.mjs';
import { openDatabase } from '../hand-database.mjs';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written, Express',
  package: 'express',
  start: async () => {
    const server = serve().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${server.address().port}`;
  },
};

/** As one would write it who needs no container: the same work as the service's, and nothing here knows of clients that leave. */
function serve() {
  const log = openLog();
  const database = openDatabase();
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const audit = (action, requestId, data) =>
    log.info({ type: 'audit', action, timestamp: new Date().toISOString(), requestId, ...data });

  app.use((req, res, next) => {
    const start = performance.now();
    req.id = randomUUID();
    res.setHeader('x-request-id', req.id);
    res.once('finish', () =>
      log.info(logLine(req.id, req.method, req.originalUrl, res.statusCode, performance.now() - start)),
    );
    next();
  });
  app.use(express.json());

  app.get('/api/users', async (req, res) => {
    const users = await database.all('users');
    audit('users_listed', req.id, { count: users.length });
    res.json(users);
  });

  app.get('/api/users/:id', async ({ params: { id } }, res) => {
    const user = UUID.test(id) ? await database.one('user', [id.toLowerCase()]) : undefined;
    if (user) res.json({ id: user.id, name: user.name, email: user.email });
    else res.status(404).json({ error: 'User not found' });
  });

  app.post('/api/users', bodyOf(newUserSchema), async (req, res) => {
    const { name, email } = req.body;
    const user = { id: v7(), name, email };
    await database.run('newUser', [user.id, name, email]);
    audit('user_created', req.id, { userId: user.id, requestId: req.id });
    res.status(201).json(user);
  });

  app.post('/api/orders', bodyOf(newOrderSchema), async ({ id: requestId, body: { items } }, res) => {
    const order = { id: v7(), items, createdAt: new Date().toISOString() };
    await database.transaction(async (connection) => {
      await connection.insertOrder(order, requestId);
      await connection.reserve(items, requestId);
    });
    res.status(201).json(order);
  });

  app.use((_req, res) => void res.status(404).json({ error: 'There is nothing at this address' }));
  app.use((err, req, res, _next) => {
    const status = err.statusCode ?? 500;
    if (status >= 500) log.error({ msg: 'request failed', requestId: req.id, err });
    res.status(status).json({ error: status >= 500 ? 'Internal Server Error' : err.message });
  });
  return app;
}

/** Validates as the hand-written code on Fastify does. */
function bodyOf(schema) {
  const ajv = new Ajv({ removeAdditional: true });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  return (req, _res, next) => {
    const refusal = () => new Error(ajv.errorsText(validate.errors, { dataVar: 'body' }));
    next(validate(req.body) ? undefined : Object.assign(refusal(), { statusCode: 400 }));
  };
}
