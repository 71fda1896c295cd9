/** A program as an application would write it; it runs the built package. */
import { Container, onDispose, Registration, singleton } from '@ambit/container';
import { containerMiddleware, disposeOnSignal } from '@ambit/express';
import express from 'express';

const end = () => {
  if (process.argv[2] === 'fails') throw new Error('broken');
  process.stdout.write('application ended\n');
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
  onError: (error) => process.stdout.write(`told of ${error.code}\n`),
});
