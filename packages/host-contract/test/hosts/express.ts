import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { containerMiddleware, drain, withTransaction } from '@ambit/express';
import type { IContainer } from '@ambit/container';
import express, {
  type ErrorRequestHandler,
  type Express,
  type NextFunction,
  type Request,
  type Response,
} from 'express';
import {
  type AppDescription,
  BODY_LIMIT,
  type Call,
  type Host,
  type Reply,
  replyTo,
  type Route,
  type RunningHost,
} from './host.js';

export const expressHost = expressWith(() => undefined);

/** Express with routes of its own, which say what only Express can say. */
export function expressWith(mount: (app: Express) => void): Host {
  return { name: 'Express', start: (description) => start(mount, description) };
}

async function start(
  mount: (app: Express) => void,
  { container, routes, onDisposeError, ownErrorHandler = true, limits, onError }: AppDescription,
): Promise<RunningHost> {
  const app = express();
  app.use(containerMiddleware(container, { onDisposeError, ...limits }));
  app.use(express.json({ limit: BODY_LIMIT }));
  for (const route of routes) {
    const method = route.method === 'GET' ? 'get' : 'post';
    app[method](route.path, ...(route.transaction ? [withTransaction(route.transaction)] : []), handlerOf(route));
  }
  mount(app);
  app.use((_req, res) => void res.status(404).json({ error: 'Not found' }));
  const handleError: ErrorRequestHandler = (error, _req, res, next) => {
    onError(error);
    if (res.headersSent) return next(error);
    const { status, body } = replyTo(error);
    res.status(status).json(body);
  };
  if (ownErrorHandler) app.use(handleError);

  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      await drain(server);
      await container.dispose();
    },
  };
}

function handlerOf(route: Route) {
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    const call: Call = {
      scope: req.container,
      get transactionScope() {
        return req.transactionScope as IContainer;
      },
      body: req.body as unknown,
      setHeaders: (headers) => void res.set(headers),
      answer: async (reply) => send(res, reply),
      fail: next,
    };
    const reply = await route.handle(call);
    if (reply) send(res, reply);
  };
}

function send(res: Response, reply: Reply): void {
  if (reply.kind === 'json') res.status(reply.status ?? 200).json(reply.body);
  else if (reply.kind === 'text') res.send(reply.text);
  else if (reply.kind === 'end') res.end(reply.text);
  else if (reply.kind === 'status') res.sendStatus(reply.status);
  else if (reply.kind === 'redirect') res.redirect(reply.to);
  else pipeline(reply.stream, res, () => undefined);
}
