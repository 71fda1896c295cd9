import { defineConfig } from 'vitest/config';

const TESTS = '{packages/*,service,examples,scripts}/test/**/*';

export default defineConfig({
  test: {
    silent: 'passed-only',
    // Vitest leaves one processor idle, which is half of a small machine.
    maxWorkers: '100%',
    // Some tests start compilers, and CI machines are slower than yours.
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: [`${TESTS}.test.ts`],
          exclude: [`${TESTS}.isolated.test.ts`],
          // Loading each module once per worker saves a third of the processor time of the suite.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'isolated', include: [`${TESTS}.isolated.test.ts`] },
      },
    ],
  },
});
