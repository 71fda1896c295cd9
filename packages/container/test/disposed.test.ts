import { afterEach, describe, expect, it, vi } from 'vitest';
import { Container, ContainerError, Registration } from '../src/index.js';
import { gate } from './support/disposers.js';

const family = () => {
  const app = new Container({ tags: ['application'] });
  return { app, request: app.createScope({ tags: ['request', 'api'] }) };
};

const uses: [string, (scope: Container) => unknown, string | undefined][] = [
  ['resolve', (scope) => scope.resolve('IUsers'), 'IUsers'],
  ['resolveAll', (scope) => scope.resolveAll('IUsers'), 'IUsers'],
  ['register', (scope) => scope.register('IUsers', () => 1), 'IUsers'],
  ['addRegistration', (scope) => scope.addRegistration(Registration.fromValue(1).to('IUsers')), undefined],
  ['createScope', (scope) => scope.createScope({ tags: ['transaction'] }), undefined],
  ['defer', (scope) => scope.defer(() => {}), undefined],
  ['start', (scope) => scope.start(), undefined],
];

/** The error, thrown or rejected with. */
async function errorOf(use: () => unknown): Promise<ContainerError> {
  try {
    await use();
  } catch (error) {
    expect(error).toBeInstanceOf(ContainerError);
    return error as ContainerError;
  }
  return expect.fail('it was served');
}

afterEach(() => void vi.restoreAllMocks());

describe('a scope that was disposed', () => {
  it.each(uses)('refuses %s, and says what was asked of which scope, with its tags', async (name, use, key) => {
    const { app, request } = family();
    app.register('IUsers', () => 1);
    await request.dispose();
    const error = await errorOf(() => use(request));
    expect(error).toMatchObject({ code: 'AMBIT_DISPOSED', key, tags: [['application'], ['request', 'api']] });
    expect(error.message).toContain(name);
    expect(error.message).toContain('[application] > [request, api]');
    expect(error.hint).not.toBe('');
    if (key) expect(error.message).toContain(`'${key}'`);
  });

  it.each(uses)('refuses %s from the call on, while it waits for a disposer', async (_, use) => {
    const { app, request } = family();
    app.register('IUsers', () => 1);
    const { opened, open } = gate();
    request.defer(() => opened);
    const disposal = request.dispose();
    const refusal = errorOf(() => use(request));
    open();
    await disposal;
    expect((await refusal).code).toBe('AMBIT_DISPOSED');
  });

  it.each(uses)('refuses %s in all scopes below, at once', async (_, use) => {
    const { app, request } = family();
    const transaction = request.createScope({ tags: ['transaction'] });
    app.register('IUsers', () => 1);
    const disposal = app.dispose();
    const refusals = [request, transaction].map((scope) => errorOf(() => use(scope)));
    await disposal;
    for (const refusal of refusals) expect((await refusal).code).toBe('AMBIT_DISPOSED');
  });
});
