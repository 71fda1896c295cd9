import { createServer } from 'node:http';
import { parse } from 'node:querystring';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { IContainer } from '@ambit/container';
import { containerMiddleware, withDeps, withTransaction } from '@ambit/express';
import type { LockedRequest } from '@ambit/idempotency';
import { inspectorMiddleware } from '@ambit/inspector/express';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express';
import { bodyCheck, JsonBodies, mayHaveBody } from '../http/body.js';
import { beginRequest, checkHead, identifyCaller } from '../http/request.js';
import { type HttpResponse, JSON_TYPE, PROTECTED, respondToFailure } from '../http/response.js';
import { isEssential, serviceRoutes, unrouted } from '../http/routes.js';
import { hostOn, respondToClientError, SERVER_OPTIONS } from '../http/server.js';
import type { ILogger } from '../logging/logger.js';
import { lockOrder, NewOrder, placeOrder } from '../orders/orders.js';
import { createUser, discard, getUser, listUsers, NewUser } from '../users/users.js';
import type { Host, HostOptions } from './host.js';

const PROTECTIONS = Object.entries(PROTECTED);
const STRICT = { caseSensitive: true, strict: true };

const sendJson = (res: Response, { status, headers, body }: HttpResponse): void =>
  void res.status(status).set(headers).json(body);

function handleErrors(options: HostOptions): ErrorRequestHandler {
  // Express recognizes error handlers by their four parameters.
  return (error, req, res, _next) => {
    const failed = { requestId: res.getHeader('x-request-id'), container: req.container, res };
    const response = respondToFailure(options, failed, error);
    // Express's own handler would destroy the socket as well, and write the stack to stderr.
    if (res.headersSent) {
      req.socket.destroy();
      return;
    }
    // Set before COMMIT, which then failed.
    res.removeHeader('idempotency-replayed');
    sendJson(res.set(PROTECTED), response);
  };
}

/** Logs an error that cannot change the response any more. */
function logError(logger: ILogger, msg: string) {
  return (err: unknown, { res }: Request): void =>
    logger.error({ msg, requestId: res?.getHeader('x-request-id'), err });
}

/** Runs before the handler of each request, whatever its address. */
function requestHead(options: HostOptions): RequestHandler {
  const { identify } = options;
  const bodies = new JsonBodies();
  return async (req, res, next) => {
    const context = beginRequest(options, req.container, req, res);
    res.setHeader('x-request-id', context.requestId);
    for (const [name, value] of PROTECTIONS) res.setHeader(name, value);
    checkHead(req);
    if (identify) await identifyCaller(identify, req, context);
    if (mayHaveBody(req)) req.body = await bodies.read(req);
    next();
  };
}

/**
 * The body, removed from the request: Express passes an error out of a router with `setImmediate`, and would keep the bodies
 * of all requests that are refused in the meantime.
 */
function takeBody(req: Request): unknown {
  const { body } = req;
  req.body = undefined;
  return body;
}

/** `withTransaction()` commits when the handler calls `res.json()`, and sends the response after COMMIT. */
function orderRoutes({ logger, transaction }: HostOptions): Router {
  const checkNewOrder = bodyCheck(NewOrder);
  const orderIn = (req: Request): NewOrder => req.body as NewOrder;
  // Everything that can be refused is refused before a connection is acquired.
  const checkOrder: RequestHandler = (req, res, next) => {
    req.body = checkNewOrder(takeBody(req));
    res.locals['locked'] = lockOrder(req.container, req.headers['idempotency-key'], orderIn(req));
    next();
  };
  const withOrder = withTransaction({
    ...transaction,
    onError: logError(logger, 'The transaction failed to close'),
    onSecondResponse: logError(logger, 'A second response was dropped'),
  });
  return Router(STRICT).post('/', checkOrder, withOrder, async (req, res) => {
    const locked = res.locals['locked'] as LockedRequest | undefined;
    sendJson(res, await placeOrder(req.transactionScope as IContainer, locked, orderIn(req)));
  });
}

function userRoutes(): Router {
  const checkNewUser = bodyCheck(NewUser);
  const list = withDeps({ users: 'IUserRepository', audit: 'IAuditLogger' }, async (req, res, services) => {
    const users = await listUsers(services, req.query);
    if (users instanceof Readable) await sendStream(req, res, users);
    else res.json(users);
  });
  const find = withDeps({ users: 'IUserRepository' }, async (req, res, { users }) => {
    res.json(await getUser(users, String(req.params['id'])));
  });
  const create = withDeps({ context: 'IRequestContext' }, async (req, res, { context: { requestId } }) => {
    const data = checkNewUser(takeBody(req));
    sendJson(res, await createUser(req.container, req.headers['idempotency-key'], data, { requestId }));
  });
  return Router(STRICT).get('/', list).get('/:id', find).post('/', create);
}

/** Sends a stream of JSON text. Rejects when the stream fails, but not when the client disconnects. */
async function sendStream({ method }: Request, res: Response, stream: Readable): Promise<void> {
  res.setHeader('content-type', JSON_TYPE);
  if (method === 'HEAD') {
    await discard(stream);
    res.end();
    return;
  }
  await pipeline(stream, res).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
}

/** The API as an Express application. The container may hold fakes. */
export function createExpressApp(container: IContainer, options: HostOptions): Express {
  const { logger, telemetry, inspect } = options;
  const app = express();
  // These make Express respond as Fastify does.
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  app.set('query parser', (text: string): object => parse(text, '&', '=', { maxKeys: 0 }));
  Object.defineProperty(app.request, 'fresh', { value: false });

  const onDisposeError = logError(logger, 'The request scope failed to dispose');
  if (inspect) app.use(inspectorMiddleware(inspect));
  app.use(containerMiddleware(container, { onDisposeError, isEssential }), requestHead(options));
  const refuseUnrouted: RequestHandler = (req) => {
    throw unrouted(req.originalUrl, telemetry);
  };
  // Express would respond to OPTIONS itself.
  app.options(/.*/, refuseUnrouted);
  app.use('/api/users', userRoutes());
  app.use('/api/orders', orderRoutes(options));
  for (const { path, respond } of serviceRoutes(options))
    app.get(path, async (req, res) => {
      const { status, headers, body } = await respond(req);
      res.status(status).set(headers).end(body);
    });
  return app.use(refuseUnrouted).use(handleErrors(options));
}

export function createHost(container: IContainer, options: HostOptions): Host {
  const server = createServer(SERVER_OPTIONS, createExpressApp(container, options));
  server.on('clientError', respondToClientError(options.logger));
  return hostOn(server, container, options, () => container.dispose());
}
