import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import { containerMiddleware, drain, problemOf, withDeps, withTransaction } from '@ambit/express';
import type { IContainer } from '@ambit/container';
import express, {
  type ErrorRequestHandler,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { Wrap } from '@ambit/test-kit';
import type { AppDescription, Call, Host, Reply, Route, RunningHost } from '@ambit/testing/hosts';
import { BODY_LIMIT } from '@ambit/testing/tools';

export const expressHost = hostOf('Express 5', express);

/** The other major version in use, where `npm run check -- hosts` has installed it. */
export const express4Hosts: readonly Host[] = process.env['OLDER_EXPRESS']
  ? // @ts-expect-error -- its types are those of the other major version
    [hostOf('Express 4', (await import('express-4')).default as typeof express)]
  : [];

function hostOf(name: string, create: typeof express): Host {
  return { name, holdsResponse: true, start: (description) => start(create, description) };
}

async function start(
  create: typeof express,
  {
    container,
    routes,
    onDisposeError,
    ownErrorHandler = true,
    limits,
    before,
    onError,
    scopeOptions: { parent, ...scopeOptions } = {},
  }: AppDescription,
): Promise<RunningHost> {
  const app = create();
  if (before) app.use((req, _res, next) => void before(req, next));
  app.use(containerMiddleware(parent ?? container, { onDisposeError, ...limits, ...scopeOptions }));
  app.use(express.json({ limit: BODY_LIMIT }));
  for (const route of routes) {
    const method = route.method.toLowerCase() as 'get';
    app[method](
      route.path,
      ...wrapping(route.wrap?.before),
      ...(route.transaction ? [withTransaction(route.transaction)] : []),
      ...wrapping(route.wrap?.behind),
      handlerOf(route, create),
    );
  }
  app.use((_req, res) => void res.status(404).json({ error: 'Not found' }));
  const handleError: ErrorRequestHandler = (error, _req, res, next) => {
    onError(error);
    if (res.headersSent) return next(error);
    const { status, headers, body } = problemOf(error);
    res.status(status).set(headers).json(body);
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

function wrapping(wrap: Wrap | undefined): RequestHandler[] {
  if (!wrap) return [];
  const middleware: RequestHandler = (_req, res, next) => {
    wrap(res);
    next();
  };
  return [middleware];
}

/** Express 4 does not see that an `async` handler rejects. */
function handlerOf(route: Route, create: typeof express): RequestHandler {
  if (create === express) return (req, res, next) => handle(route, req, res, next);
  return (req, res, next) => withDeps({}, () => handle(route, req, res, next))(req, res, next);
}

async function handle(route: Route, req: Request, res: Response, next: NextFunction): Promise<void> {
  const call: Call = {
    scope: req.container,
    get transactionScope() {
      return req.transactionScope as IContainer;
    },
    body: req.body as unknown,
    readBody: () => text(req),
    header: (name) => req.headers[name],
    res,
    setHeaders: (headers) => void res.set(headers),
    respond: async (reply) => send(res, reply),
    fail: next,
  };
  const reply = await route.handle(call);
  if (reply) send(res, reply);
}

function send(res: Response, reply: Reply): void {
  if (reply.kind === 'json') res.status(reply.status ?? 200).json(reply.body);
  else if (reply.kind === 'text') res.send(reply.text);
  else if (reply.kind === 'end') res.end(reply.text);
  else if (reply.kind === 'status') res.sendStatus(reply.status);
  else if (reply.kind === 'redirect') res.redirect(reply.to);
  else pipeline(reply.stream, res, () => undefined);
}
