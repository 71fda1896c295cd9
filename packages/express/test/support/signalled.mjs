/** A program as an application would write it; it runs the built package. */
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Container, onDispose, Registration, singleton } from '@ambit/container';
import { containerMiddleware, disposeOnSignal } from '@ambit/express';
import express from 'express';

const end = () => {
  if (process.argv[2] === 'fails') throw new Error('broken');
  if (process.argv[2] === 'hangs') return new Promise(() => void createServer().listen(0, '127.0.0.1'));
  return process.stdout.write('application ended\n');
};
const appContainer = new Container({ tags: ['application'] });
appContainer.addRegistration(
  Registration.fromFactory(() => ({}))
    .pipe(singleton(), onDispose(end))
    .to('IPool'),
);
appContainer.resolve('IPool');

const app = express().use(containerMiddleware(appContainer));
const server = app.listen(0, '127.0.0.1', () => process.stdout.write('listening\n'));
disposeOnSignal(server, appContainer, {
  disposeTimeoutMs: process.argv[2] === 'hangs' ? 50 : Infinity,
  onError: async (error) => {
    // As an asynchronous log does.
    await setTimeout(20);
    const stillOpen = /still open: .*TCPServerWrap/.test(error.message) ? ', a server is still open' : '';
    process.stdout.write(`reported: ${error.code}${stillOpen}\n`);
  },
});
