import { defineConfig } from 'vitest/config';
import root from '../../vitest.config.js';

export default defineConfig({
  resolve: { alias: (root as { resolve: { alias: [] } }).resolve.alias },
  test: {
    root: import.meta.dirname,
    include: ['*.test.ts'],
    slowTestThreshold: 600_000,
    testTimeout: 3_600_000,
    silent: 'passed-only',
  },
});
