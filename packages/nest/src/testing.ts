/*
 * For the unit tests of a whole suite: `setupFiles: ['@ambit/nest/testing']` in Vitest and in Jest. From then on a method with
 * `@Transactional()` or `@InScope()` that is called outside of a scope is called as it is. In a scope nothing changes.
 */
import { declareUnitTests } from './unit-tests.js';

declareUnitTests();
