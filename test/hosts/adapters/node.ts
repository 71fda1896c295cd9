import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream';
import { createHandler, drain, type Handler, problemOf, withTransaction } from '@ambit/http';
import type { AppDescription, Call, Host, Reply, Route, RunningHost } from '@ambit/testing/hosts';
import { BODY_LIMIT } from '@ambit/testing/tools';

/** Plain `node:http`, with as much of a framework as an application writes by itself. */
export const nodeHost: Host = { name: 'node:http', holdsResponse: true, start };

async function start({
  container,
  routes,
  onDisposeError,
  ownErrorHandler = true,
  limits,
  before,
  onError,
  scopeOptions: { parent, ...scopeOptions } = {},
}: AppDescription): Promise<RunningHost> {
  const handleError = (error: unknown, _req: IncomingMessage, res: ServerResponse): void => {
    onError(error);
    if (res.headersSent) return;
    const { status, headers, body } = problemOf(error);
    res.statusCode = status;
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    res.end(JSON.stringify(body));
  };
  const handlers = new Map(routes.map((route) => [`${route.method} ${route.path}`, handlerOf(route)]));
  const handler: Handler = (req, res, scope) => {
    const method = req.method === 'HEAD' ? 'GET' : req.method;
    const handle = handlers.get(`${method} ${req.url}`);
    if (handle) return handle(req, res, scope);
    return send(res, { kind: 'json', status: 404, body: { error: 'Not found' } });
  };
  const options = { onDisposeError, ...limits, ...scopeOptions, ...(ownErrorHandler && { onError: handleError }) };
  const listener = createHandler(parent ?? container, handler, options);
  const server = createServer(before ? (req, res) => void before(req, () => listener(req, res)) : listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      await drain(server);
      await container.dispose();
    },
  };
}

function handlerOf({ transaction, handle, wrap }: Route): Handler {
  return async (req, res, requestScope) => {
    const body = await readJson(req);
    wrap?.before?.(res);
    const work: Handler = async (_req, _res, scope) => {
      wrap?.behind?.(res);
      let failure: { readonly error: unknown } | undefined;
      const call: Call = {
        scope: requestScope,
        transactionScope: scope,
        body,
        readBody: () => text(req),
        header: (name) => req.headers[name],
        res,
        setHeaders: (headers) => void res.setHeaders(new Map(Object.entries(headers))),
        respond: async (reply) => send(res, reply),
        fail: (error) => void (failure = { error }),
      };
      const reply = await handle(call);
      if (failure) throw failure.error;
      if (reply) send(res, reply);
    };
    await (transaction ? withTransaction(work, transaction) : work)(req, res, requestScope);
  };
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  if (req.headers['content-type'] === 'application/octet-stream') return undefined;
  let json = '';
  for await (const chunk of req) {
    json += String(chunk);
    if (json.length > BODY_LIMIT) throw Object.assign(new Error('The body is too large'), { statusCode: 413 });
  }
  if (json === '') return undefined;
  try {
    return JSON.parse(json);
  } catch (error) {
    throw Object.assign(error as Error, { statusCode: 400 });
  }
}

function send(res: ServerResponse, reply: Reply): void {
  if (reply.kind === 'json') {
    const json = JSON.stringify(reply.body);
    res.statusCode = reply.status ?? 200;
    res.setHeader('content-type', 'application/json; charset=utf-8');
    res.setHeader('content-length', Buffer.byteLength(json));
    res.end(json);
  } else if (reply.kind === 'status') res.writeHead(reply.status).end();
  else if (reply.kind === 'redirect') res.writeHead(302, { location: reply.to }).end();
  else if (reply.kind === 'stream') pipeline(reply.stream, res, () => undefined);
  else res.end(reply.text);
}
