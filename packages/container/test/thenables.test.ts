import { expect, it, vi } from 'vitest';
import { decorate, onStart, Registration, singleton } from '../src/index.js';
import { openApplication } from './support/scopes.js';

/** A query builder, which sends its statement when it is awaited. */
function builder() {
  return { sent: vi.fn<() => void>(), disposed: vi.fn<() => void>() };
}

it.each<[string, (made: ReturnType<typeof builder>) => Registration<unknown>]>([
  ['of a factory', (made) => Registration.fromFactory(() => thenable(made))],
  ['of a decorator', (made) => Registration.fromFactory(() => ({})).pipe(decorate(() => thenable(made)))],
  ['that is started', (made) => Registration.fromFactory(() => thenable(made)).pipe(onStart(() => undefined))],
])('a service with a method then() is no promise: nobody calls it, and it is disposed: %s', async (_, registration) => {
  const made = builder();
  const app = openApplication(registration(made).pipe(singleton()).to('IQuery'));
  app.resolve('IQuery');
  await app.start();
  await app.dispose();

  expect(made.sent).not.toHaveBeenCalled();
  expect(made.disposed).toHaveBeenCalledOnce();
});

it('a promise of another kind, such as one of another realm, is awaited as any other', async () => {
  const { disposed } = builder();
  const settled = Promise.resolve({ dispose: disposed });
  // oxlint-disable-next-line no-thenable -- that is what it is about
  const foreign = { then: settled.then.bind(settled), [Symbol.toStringTag]: 'Promise' };
  const app = openApplication(
    Registration.fromFactory(() => foreign)
      .pipe(singleton())
      .to('IPool'),
  );
  app.resolve('IPool');
  await app.dispose();

  expect(disposed).toHaveBeenCalledOnce();
});

it('what a disposer returns is awaited, whatever it is', async () => {
  let isOver = false;
  const over = {
    // oxlint-disable-next-line no-thenable -- that is what it is about
    then(resolve: () => void) {
      isOver = true;
      resolve();
    },
  };
  const app = openApplication(
    Registration.fromFactory(() => ({ dispose: () => over }))
      .pipe(singleton())
      .to('IPool'),
  );
  app.resolve('IPool');
  await app.dispose();

  expect(isOver).toBe(true);
});

function thenable({ sent, disposed }: ReturnType<typeof builder>) {
  return {
    // oxlint-disable-next-line no-thenable -- that is what it is about
    then(resolve: () => void) {
      sent();
      resolve();
    },
    dispose: disposed,
  };
}
