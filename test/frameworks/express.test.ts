import type { AddressInfo } from 'node:net';
import { containerMiddleware, drain, problemOf, withTransaction } from '@ambit/express';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { type Application, middlewareContract, type Running } from './contract.js';
import { handlers, middlewares } from './express-middlewares.js';
import { requestsTo } from './fixtures.js';

async function start({ middleware, transaction, work, onError }: Application<RequestHandler[]>): Promise<Running> {
  const app = express();
  app.get('/ping', (_req, res) => void res.end());
  const works: RequestHandler = async (req, _res, next) => {
    await work(req.transactionScope);
    next();
  };
  if (!transaction) app.use(...middleware, works);
  else {
    const { container, middlewareIs, endTimeoutMs } = transaction;
    const inTransaction = [withTransaction({ endTimeoutMs, onSecondResponse: onError }), works];
    app.use(containerMiddleware(container));
    app.use(...(middlewareIs === 'before' ? [...middleware, ...inTransaction] : [...inTransaction, ...middleware]));
  }
  for (const [path, handle] of Object.entries(handlers)) app.all(path, (_req, res) => handle(res));
  const respondToError: ErrorRequestHandler = (error, _req, res, next) => {
    onError(error);
    if (res.headersSent) return next(error);
    const { status, headers, body } = problemOf(error);
    res.status(status).set(headers).json(body);
  };
  app.use(respondToError);
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => drain(server) };
}

middlewareContract({
  name: 'Express',
  middlewares,
  requests: requestsTo(handlers),
  start,
});
