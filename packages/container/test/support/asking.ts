import { Registration, type Dependency, type Key } from '../../src/index.js';
import type { ScopeDeclaration } from '../../src/tools.js';

/** A class of its own that asks for these. */
export const asking = (...needs: readonly Dependency[]): Registration<unknown> => {
  class Asking {
    readonly got: readonly unknown[];
    constructor(...got: readonly unknown[]) {
      this.got = got;
    }
  }
  return Registration.fromClass(Asking, needs);
};

/** A factory that resolves the key, which nobody can know beforehand. */
export const resolving = (key: Key): Registration<unknown> =>
  Registration.fromFactory((scope) => scope.resolve(key as string));

/** What the service opens: requests, and in them transactions that get their connection directly. */
export const request: ScopeDeclaration = {
  tags: ['request'],
  scopes: [{ tags: ['transaction'], registers: ['ISession'] }],
};
