import { once } from 'node:events';
import { createServer } from 'node:http';
import { openScopes } from '@ambit/container/tools';
import { createHandler, withTransaction } from '@ambit/http';
import { ambitContainer } from '../containers.mjs';

export async function start(pool) {
  const container = ambitContainer(pool);
  const handler = createHandler(
    container,
    async (req, res, scope) => {
      scope.resolve('IContext');
      if (req.method === 'GET') return sendJson(res, 200, await scope.resolve('IProducts').list());
      const order = await readJson(req);
      return withTransaction(async (_req, _res, transactionScope) => {
        sendJson(res, 201, await transactionScope.resolve('IOrders').create(order));
      })(req, res, scope);
    },
    { onError: (_error, _req, res) => (res.headersSent ? res.destroy() : sendJson(res, 500, { error: 'failed' })) },
  );
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: server.address().port, open: () => openScopes(container).length };
}

async function readJson(req) {
  let text = '';
  for await (const chunk of req) text += chunk;
  return JSON.parse(text);
}

function sendJson(res, status, body) {
  const text = JSON.stringify(body);
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  res.end(text);
}
