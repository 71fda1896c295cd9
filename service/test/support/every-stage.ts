import { chosen } from '@ambit/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { HOST_VARIANTS } from '../../src/config/config.js';
import type { HostVariant } from './app.js';
import { type DatabaseKind, databaseKinds, sqlite } from './databases.js';
import { Stage } from './stage.js';

type Stories = (stage: Stage) => void;

function onStages(hosts: readonly HostVariant[], kinds: readonly DatabaseKind[], stories: Stories): void {
  describe.each(kinds)('with $name', (kind) => {
    describe.skipIf(kind.missing).each(hosts)('on %s', (variant) => {
      const stage = new Stage(variant, kind);
      beforeAll(() => stage.open());
      beforeEach(() => stage.clear());
      afterEach(() => stage.balance());
      afterAll(() => stage.close());
      stories(stage);
    });
  });
}

/** Runs the same tests on both hosts and all databases: for the story, which meets all that differs. */
export const onEveryStage = (stories: Stories): void => onStages(HOST_VARIANTS, chosen(databaseKinds), stories);

/** For SQL, which differs between the databases. */
export const onEveryDatabase = (stories: Stories, kinds = databaseKinds): void =>
  onStages(['fastify'], chosen(kinds), stories);

/** For what each host does in its own way. */
export const onBothHosts = (stories: Stories): void => onStages(HOST_VARIANTS, [sqlite], stories);

/** For what the hosts and the databases share. */
export const onOneStage = (stories: Stories): void => onStages(['fastify'], [sqlite], stories);
