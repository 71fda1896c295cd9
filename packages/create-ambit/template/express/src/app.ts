import type { Container } from '@ambit/container';
import { containerMiddleware, resolve, withTransaction } from '@ambit/express';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { readOrder } from './input.ts';

export function createApp(container: Container): Express {
  const app = express();
  app.use(containerMiddleware(container), express.json());

  app.get('/orders', async (req, res) => {
    res.json(await resolve(req, 'IOrders').latest());
  });
  app.post('/orders', checkOrder, withTransaction(), async (req, res) => {
    const order = await resolve(req, 'IOrders').place(req.body);
    res.status(201).json(order); // sent after COMMIT, or not at all
  });
  return app.use(sendError);
}

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
