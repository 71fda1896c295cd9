import { once } from 'node:events';

/** Gives the address of an Express application that listens on any free port. */
export async function listen(app) {
  const server = app.listen(0);
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}`;
}
