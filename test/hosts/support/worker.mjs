// An application that also works without HTTP: node worker.mjs <Express|Fastify|node:http>. Tells its parent what happens.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Container, onDispose, Registration, singleton } from '@ambit/container';
import { inScope } from '@ambit/container/work';
import { containerMiddleware, disposeOnSignal } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import { createHandler } from '@ambit/http';
import express from 'express';
import { fastify } from 'fastify';

const [, , host] = process.argv;
const container = new Container({ tags: ['application'] });
container.addRegistration(
  Registration.fromFactory(() => ({}))
    .pipe(
      singleton(),
      onDispose(() => void process.send({ event: 'disposed' })),
    )
    .to('IMailer'),
);
const tell = (server) => () => process.send({ event: 'listening', port: server.address().port });

if (host === 'Express') {
  const app = express().use(containerMiddleware(container));
  const server = app.listen(0, '127.0.0.1', () => tell(server)());
  disposeOnSignal(server, container);
} else if (host === 'node:http') {
  const server = createServer(createHandler(container, (_req, res) => res.end()));
  server.listen(0, '127.0.0.1', tell(server));
  disposeOnSignal(server, container);
} else {
  const app = fastify();
  await app.register(containerPlugin, { container });
  process.once('SIGTERM', () => void app.close().then(() => process.exit(0)));
  await app.listen({ port: 0, host: '127.0.0.1' });
  tell(app.server)();
}

await inScope(container, { tags: ['job'] }, async (scope) => {
  scope.resolve('IMailer');
  process.send({ event: 'working' });
  await once(process, 'message');
  process.send({ event: 'worked' });
});
await inScope(container, { tags: ['job'] }, () => undefined).catch((/** @type {unknown} */ error) =>
  process.send({ event: Object(error).code }),
);
