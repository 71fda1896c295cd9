import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    silent: 'passed-only',
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
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
