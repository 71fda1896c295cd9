import { defineConfig } from '@playwright/test';

export default defineConfig({
  outputDir: 'node_modules/.cache/test-results',
  testMatch: 'users.spec.ts',
  fullyParallel: true,
  reporter: 'line',
  // Eight pages share the processors of the machine.
  timeout: 60_000,
  expect: { timeout: 30_000 },
  // The workers share one browser, in a context of their own each.
  use: { connectOptions: { wsEndpoint: process.env['BROWSER'] ?? '' } },
});
