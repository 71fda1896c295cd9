import { test as base } from '@playwright/test';
import { type Isolated, isolationNamed } from './isolation.mjs';

const isolate = isolationNamed(process.env['ISOLATION']);

/** Each test finds an empty database: every request of its page has the headers that make it so. */
export const test = base.extend<{ isolated: Isolated }>({
  // Playwright reads from the pattern which other fixtures this one needs.
  // oxlint-disable-next-line no-empty-pattern
  isolated: async ({}, use) => {
    const isolated = await isolate();
    await use(isolated);
    await isolated.release();
  },
  baseURL: ({ isolated }, use) => use(isolated.url),
  extraHTTPHeaders: ({ isolated }, use) => use(isolated.headers),
});
