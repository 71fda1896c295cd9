import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    silent: 'passed-only',
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'newest', include: ['{test,migrations,comparison}/**/*.test.ts'] } },
      {
        // The oldest Kysely of the peer range, under the name of the newest also for our package.
        extends: true,
        resolve: { alias: { kysely: 'kysely-0-28' } },
        test: {
          name: 'Kysely 0.28',
          include: ['test/kysely/*.test.ts'],
          server: { deps: { inline: [/@ambit\/transaction/] } },
        },
      },
    ],
  },
});
