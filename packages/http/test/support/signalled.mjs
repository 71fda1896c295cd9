/** A program as an application would write it; it runs the built package. */
import { createServer as createHttpServer, request } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Container, onDispose, Registration, singleton } from '@ambit/container';
import { createHandler, disposeOnSignal } from '@ambit/http';

const dispose = () => {
  if (process.argv[2] === 'fails') throw new Error('broken');
  if (process.argv[2] === 'hangs') return new Promise(() => void createServer().listen(0, '127.0.0.1'));
  return process.stdout.write('application disposed\n');
};
const appContainer = new Container({ tags: ['application'] });
appContainer.addRegistration(
  Registration.fromFactory(() => ({}))
    .pipe(singleton(), onDispose(dispose))
    .to('IPool'),
);
appContainer.resolve('IPool');

const server = createHttpServer(
  createHandler(appContainer, (_req, res) => {
    if (process.argv[2] === 'is busy') process.stdout.write('listening\n');
    else res.end();
  }),
);
server.listen(0, '127.0.0.1', () => {
  if (process.argv[2] === 'is busy')
    request({ port: server.address().port })
      .on('error', () => undefined)
      .end();
  else process.stdout.write('listening\n');
});
disposeOnSignal(server, appContainer, {
  timeoutMs: 50,
  disposeTimeoutMs: process.argv[2] === 'hangs' ? 50 : Infinity,
  onError: async (error) => {
    // As an asynchronous log does.
    await setTimeout(20);
    const stillOpen = /still open: .*TCPServerWrap/.test(error.message) ? ', a server is still open' : '';
    const closed = /: (\d+ connections?) after/.exec(error.message)?.[1];
    process.stdout.write(`reported: ${error.code}${stillOpen}${closed ? `, ${closed}` : ''}\n`);
  },
});
