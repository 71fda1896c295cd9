import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['test/*.test.ts'],
    silent: 'passed-only',
    // Long pages have thousands of words to compare, and the machine may be busy.
    testTimeout: 180_000,
    hookTimeout: 60_000,
    maxConcurrency: 3,
  },
});
