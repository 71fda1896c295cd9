import { defineConfig } from 'vitest/config';

const TESTS = '{packages/*,service,examples,examples/conduit,scripts}/test/**/*';
/** What `npm test` leaves to `npm run check`: the contract on further hosts, and the runs of random clients on all of them. */
const MORE_HOSTS = 'packages/host-contract/test/{crowd,simulation,{express-4,fetch,hono,node}.isolated}.test.ts';

export default defineConfig({
  test: {
    silent: 'passed-only',
    // Vitest leaves one processor idle, which is half of a small machine.
    maxWorkers: '100%',
    // Some tests start compilers, and CI machines are slower than yours.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Less than a test has, so that it fails with what was expected.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: [`${TESTS}.test.ts`],
          exclude: [`${TESTS}.isolated.test.ts`, MORE_HOSTS],
          // Each worker loads each module once.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'isolated', include: [`${TESTS}.isolated.test.ts`], exclude: [MORE_HOSTS] },
      },
      {
        extends: true,
        test: { name: 'more-hosts', include: [MORE_HOSTS] },
      },
    ],
  },
});
