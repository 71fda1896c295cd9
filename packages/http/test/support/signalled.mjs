/** A program as an application would write it; it runs the built package. */
import { createServer as createHttpServer } from 'node:http';
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

const server = createHttpServer(createHandler(appContainer, (_req, res) => res.end()));
server.listen(0, '127.0.0.1', () => process.stdout.write('listening\n'));
disposeOnSignal(server, appContainer, {
  disposeTimeoutMs: process.argv[2] === 'hangs' ? 50 : Infinity,
  onError: async (error) => {
    // As an asynchronous log does.
    await setTimeout(20);
    const stillOpen = /still open: .*TCPServerWrap/.test(error.message) ? ', a server is still open' : '';
    process.stdout.write(`reported: ${error.code}${stillOpen}\n`);
  },
});
