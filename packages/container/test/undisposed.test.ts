import { describe, expect, it } from 'vitest';
import { externallyOwned, Registration, singleton, type Class } from '../src/index.js';
import { verify } from '../src/tools.js';
import { request } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, perRequest } from './support/scopes.js';

class Session {
  [Symbol.asyncDispose] = undefined;
  async dispose(): Promise<void> {}
}
class Inherited extends Session {}
class Sync {
  [Symbol.dispose](): void {}
}
class Async {
  async [Symbol.asyncDispose](): Promise<void> {}
}
class Plain {}

const problems = (registration: Registration<unknown>) => {
  const app = openApplication(registration.to('ISession'));
  return refusal(() => verify(app, request)).problems;
};
const accepted = (registration: Registration<unknown>) => () =>
  verify(openApplication(registration.to('ISession')), request);

describe('a registration with a predicate and without singleton()', () => {
  it.each<[string, Class]>([
    ['dispose()', Session],
    ['an inherited dispose()', Inherited],
    ['Symbol.dispose', Sync],
    ['Symbol.asyncDispose', Async],
  ])('is reported by verify where its class has %s, which nobody would call', (_, target) => {
    const [problem, ...others] = problems(Registration.fromClass(target).pipe(perRequest));

    expect(problem).toMatchObject({ code: 'AMBIT_UNDISPOSED', key: 'ISession', tags: [['application']] });
    expect(problem?.hint).toContain('singleton()');
    expect(others).toEqual([]);
  });

  it('is accepted with singleton(), with externallyOwned(), without a disposer, and from a factory', () => {
    const session = Registration.fromClass(Session);
    expect(accepted(session.pipe(perRequest, singleton()))).not.toThrow();
    expect(accepted(session.pipe(perRequest, externallyOwned()))).not.toThrow();
    expect(accepted(Registration.fromClass(Plain).pipe(perRequest))).not.toThrow();
    expect(accepted(Registration.fromFactory(() => new Session()).pipe(perRequest))).not.toThrow();
  });

  it('is no problem without a predicate: a plain transient belongs to the caller', () => {
    expect(accepted(Registration.fromClass(Session))).not.toThrow();
  });
});
