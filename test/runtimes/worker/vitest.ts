// In place of `vitest` inside of a Worker: its runner, assertions and spies, without the parts that need processes.
import {
  addCustomEqualityTesters,
  ASYMMETRIC_MATCHERS_OBJECT,
  customMatchers,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
} from '@vitest/expect';
import { spyOn } from '@vitest/spy';
import * as chai from 'chai';

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, onTestFinished, test } from '@vitest/runner';

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin);

const assertions = globalThis as unknown as Record<symbol, object>;

export const expect = Object.assign(
  (value: unknown, message?: string) => chai.expect(value, message),
  chai.expect,
  assertions[ASYMMETRIC_MATCHERS_OBJECT],
  { addEqualityTesters: addCustomEqualityTesters },
);
(chai.expect as unknown as { extend(expect: object, matchers: object): void }).extend(expect, customMatchers);

export const vi = { spyOn };
