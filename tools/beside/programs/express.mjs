import { once } from 'node:events';
import { containerMiddleware, requireTransactionScope, withDeps, withTransaction } from '@ambit/express';
import { inspectorMiddleware } from '@ambit/inspector/express';
import express from 'express';
import { application, proveHost, storeOrder } from './hosts.mjs';

const container = await application();
const app = express();
app.use(inspectorMiddleware({ container, enabled: true, token: 'a token of 16 characters' }));
app.use(containerMiddleware(container));
const store = async (req, res) => {
  await storeOrder(requireTransactionScope(req), req.params.id);
  res.status(201).end();
};
// Express 4 does not see that an async handler rejects.
app.post(
  '/orders/:id',
  withTransaction(),
  (req, res, next) => void withDeps({}, () => store(req, res))(req, res, next),
);
app.use((error, _req, res, _next) => {
  if (error.message !== 'refused') console.error(error);
  res.statusCode = 500;
  res.end();
});
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
await proveHost(`http://127.0.0.1:${server.address().port}`, container);
server.close();
server.closeAllConnections();
await container.dispose();
