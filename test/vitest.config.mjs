import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';

/** Starts what takes longest first: Vitest goes by size, and these files are small. */
class LongFirst extends BaseSequencer {
  /** @param {import('vitest/node').TestSpecification[]} files */
  async sort(files) {
    const rank = (/** @type {import('vitest/node').TestSpecification} */ { moduleId }) =>
      /pools.contract|histories/.test(moduleId) ? 0 : 1;
    // oxlint-disable-next-line unicorn/no-array-sort -- it is the one of Vitest.
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    silent: 'passed-only',
    // Most tests wait for a database or a broker.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: LongFirst },
    // Only a hang misses these, on a machine that is busy, too.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Less than a test has, so that it fails with what was expected.
    expect: { poll: { timeout: 120_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'newest',
          include: ['{orm,jobs,pools,outbox,histories,containers,frameworks,doctor,libraries}/**/*.test.ts'],
          exclude: ['orm/prisma/**', '**/node_modules/**'],
        },
      },
      { extends: true, test: { name: 'Prisma', include: ['orm/prisma/test/*.test.ts'] } },
      {
        extends: true,
        resolve: {
          alias: [
            { find: /^\.\.\/generated/, replacement: resolve(import.meta.dirname, 'orm/prisma/six/generated') },
            { find: /^@prisma/, replacement: resolve(import.meta.dirname, 'orm/prisma/six/node_modules/@prisma') },
          ],
        },
        test: { name: 'Prisma 6', include: ['orm/prisma/test/{client,prisma}.test.ts'] },
      },
      {
        // The oldest Kysely of the peer range, under the name of the newest also for our package.
        extends: true,
        resolve: { alias: { kysely: 'kysely-0-28' } },
        test: {
          name: 'Kysely 0.28',
          include: ['orm/kysely/*.test.ts'],
          server: { deps: { inline: [/@ambit\/transaction/] } },
        },
      },
    ],
  },
});
