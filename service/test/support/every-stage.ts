import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { HOST_VARIANTS } from '../../src/config/config.js';
import { databaseKinds } from './databases.js';
import { Stage } from './stage.js';

/** Runs the same tests on both hosts and all databases. */
export function onEveryStage(stories: (stage: Stage) => void): void {
  describe.each(databaseKinds)('with $name', (kind) => {
    describe.skipIf(kind.missing).each(HOST_VARIANTS)('on %s', (variant) => {
      const stage = new Stage(variant, kind);
      beforeAll(() => stage.open());
      beforeEach(() => stage.clear());
      afterEach(() => stage.balance());
      afterAll(() => stage.close());
      stories(stage);
    });
  });
}
