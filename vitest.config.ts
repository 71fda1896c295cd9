import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{packages/*,service,examples,scripts}/test/**/*.test.ts'],
    silent: 'passed-only',
    // Vitest leaves one processor idle, which is half of a small machine.
    maxWorkers: '100%',
    // Some tests start compilers, and CI machines are slower than yours.
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
