import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{packages/*,service,examples,scripts}/test/**/*.test.ts'],
    silent: 'passed-only',
    // Some tests start compilers, and CI machines are slower than yours.
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
