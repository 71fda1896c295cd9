import type { Container, IContainer } from '@ambit/container';
import { containerMiddleware, resolve, withTransaction } from '@ambit/express';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import { readOrder } from './input.ts';
import { logRequest, requestIdOf } from './log.ts';

export function createApp(container: Container): Express {
  const app = express();
  app.use(containerMiddleware(container, { register: registerId }));
  app.get('/health/live', (_req, res) => void res.json({ status: 'live' }));
  app.get('/health/ready', async (req, res) => {
    await resolve(req, 'IDatabasePool').query('SELECT 1');
    res.json({ status: 'ready' });
  });

  app.use(log, express.json());
  app.get('/orders', async (req, res) => {
    res.json(await resolve(req, 'IOrders').latest());
  });
  app.post('/orders', checkOrder, withTransaction(), async (req, res) => {
    const order = await resolve(req, 'IOrders').place(req.body);
    res.status(201).json(order); // sent after COMMIT, or not at all
  });
  return app.use(sendError);
}

/** Once per request: every service of the request gets the same id. */
const registerId = (scope: IContainer, req: Request) =>
  scope.register('IRequestId', () => requestIdOf(req.get('x-request-id')));

const log: RequestHandler = (req, res, next) => {
  const begun = performance.now();
  const { method, path } = req;
  const id = resolve(req, 'IRequestId');
  res.setHeader('x-request-id', id);
  res.on('close', () => logRequest({ id, method, path, status: res.statusCode, begun }));
  next();
};

const checkOrder: RequestHandler = (req, _res, next) => {
  req.body = readOrder(req.body);
  next();
};

/** Every error ends here. If it was thrown in a transaction, that has been rolled back. */
const sendError: ErrorRequestHandler = (error, _req, res, next) => {
  if (res.headersSent) return next(error);
  const { statusCode = 500, message } = error;
  if (statusCode >= 500) console.error(error);
  res.status(statusCode).json({ error: statusCode < 500 ? message : 'The request could not be processed' });
};
