import { describe, expect, it } from 'vitest';
import { DisposeError, Registration, singleton, type Container } from '../src/index.js';
import { openScopes } from '../src/tools.js';
import { turn } from './support/disposers.js';
import { openApplication, openRequest } from './support/scopes.js';

/** A scope has one instance of this for itself, and counts when that is disposed. */
function counting(dispose: () => unknown = () => undefined) {
  const counts = { disposed: 0 };
  const registration = Registration.fromFactory(() => ({
    dispose() {
      counts.disposed++;
      return dispose();
    },
  })).pipe(singleton());
  return { counts, registration };
}

const fail = () => {
  throw new Error('cannot be disposed');
};

/** So many scopes within one another, below the application, each with an instance of its own. */
function nested(app: Container, depth: number): void {
  const dispose = app.resolve<() => unknown>('IDispose');
  let innermost = app;
  for (let i = 0; i < depth; i++) {
    innermost = innermost.createScope({ tags: ['step'] });
    innermost.defer(dispose);
  }
}

describe('a scope with very many below it is disposed as a whole', () => {
  it('150,000 scopes that fail: all are tried, its own instances are disposed, and the error has every failure', async () => {
    const { counts, registration } = counting();
    const app = openApplication(registration.to('IPool'), Registration.fromValue(fail).to('IDispose'));
    app.resolve('IPool');
    for (let i = 0; i < 150_000; i++) openRequest(app).defer(fail);
    const error: unknown = await app.dispose().catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(DisposeError);
    expect((error as DisposeError).failures).toHaveLength(150_000);
    expect(counts.disposed).toBe(1);
    expect(openScopes(app)).toEqual([]);
  });

  it.each([
    ['at once', () => undefined],
    ['later', turn],
  ])('30,000 scopes within one another, disposed %s', async (_, dispose) => {
    let disposed = 0;
    const work = () => {
      disposed++;
      // One in a thousand takes a while: the rest is in between.
      return disposed % 1000 === 0 ? dispose() : undefined;
    };
    const app = openApplication(Registration.fromValue(work).to('IDispose'));
    nested(app, 30_000);
    await app.dispose();

    expect(disposed).toBe(30_000);
    expect(openScopes(app)).toEqual([]);
  });
});

it('openScopes lists 200,000 scopes below one, the oldest first', () => {
  const app = openApplication();
  const tenant = app.createScope({ tags: ['tenant'] });
  const opened = Array.from({ length: 200_000 }, () => openRequest(tenant));
  const listed = openScopes(app);

  expect(listed).toHaveLength(200_001);
  expect(listed[0] === tenant && listed[1] === opened[0] && listed.at(-1) === opened.at(-1)).toBe(true);
});

describe('the message of a DisposeError stays short', () => {
  it('however many instances failed: the first ten, and how many more', async () => {
    const app = openApplication();
    for (let i = 0; i < 1000; i++) openRequest(app).defer(fail);
    const { message, failures }: DisposeError = await app.dispose().then(
      () => expect.unreachable(),
      (error: unknown) => error as DisposeError,
    );

    expect(message.split('\n')).toHaveLength(13);
    expect(message).toMatch(/\n {2}\.\.\. and 990 more\n.*$/);
    expect(failures).toHaveLength(1000);
  });

  it('however deep the scope was: the outermost and the innermost four', async () => {
    const app = openApplication(Registration.fromValue(() => undefined).to('IDispose'));
    nested(app, 1000);
    openScopes(app).at(-1)?.defer(fail);
    const { message, failures }: DisposeError = await app.dispose().then(
      () => expect.unreachable(),
      (error: unknown) => error as DisposeError,
    );

    const steps = (count: number) => Array.from({ length: count }, () => '[step]').join(' > ');
    expect(message).toContain(`in [application] > ${steps(3)} > ... 993 more ... > ${steps(4)}: Error`);
    expect(failures[0]?.tags).toHaveLength(1001);
  });
});
