import { once } from 'node:events';

/** Adds the error handler, and gives the port that the Express application listens on. */
export async function listen(app) {
  app.use((error, _req, res, _next) => {
    res.status(error.status ?? 500).json({ error: 'something went wrong' });
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}
