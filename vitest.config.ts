import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, { readonly default: string }>>;
  readonly imports?: Readonly<Record<string, { readonly node: string }>>;
}

/** Tests run on the sources of all packages: what is broken in one fails at once in those that use it. */
function sources(): { find: RegExp; replacement: string }[] {
  const packages = readdirSync(join(import.meta.dirname, 'packages')).map((name) => `packages/${name}`);
  return [...packages, 'test'].flatMap((path) => {
    const folder = join(import.meta.dirname, path);
    // A branch that moved a package leaves its folder with what was built.
    if (!existsSync(join(folder, 'package.json'))) return [];
    const manifest = readFileSync(join(folder, 'package.json'), 'utf8');
    const { name, exports = {}, imports = {} } = JSON.parse(manifest) as Manifest;
    const instead = (specifier: string, built: string) => ({
      find: new RegExp(`^${specifier}$`),
      replacement: join(folder, built.replace('/dist/', '/src/').replace(/\.js$/, '.ts')),
    });
    return [
      ...Object.entries(exports).map(([entry, built]) => instead(join(name, entry), built.default)),
      ...Object.entries(imports).map(([specifier, built]) => instead(specifier, built.node)),
    ];
  });
}

/** Older versions of Express, beside the newest one. */
const OLDER_EXPRESS = {
  find: /^(express-(4|5\.1))$/,
  replacement: join(import.meta.dirname, 'test/versions/express/node_modules/$1'),
};

/** The steps `hosts` and `nest-versions` of `npm run check` install what is in test/versions. */
const isInstalled = (name: string) => existsSync(join(import.meta.dirname, `test/versions/${name}/node_modules`));

/** A NestJS of its own folder in place of the root's, with the Express and Fastify that it is on, and what is used with it. */
function nest(version: number): { find: RegExp; replacement: string }[] {
  const packages = join(import.meta.dirname, `test/versions/nest-${version}`, 'node_modules');
  const installed = /^(@nestjs(-cls)?\/[^/]+|bullmq|express|fastify|nestjs-cls|reflect-metadata|rxjs|ws)$/;
  return [{ find: installed, replacement: join(packages, '$1') }];
}

/** The longest files begin first: Vitest goes by size, and these files are small. */
const LONGEST = [/nest-\w+\.isolated/, /\.contract\.test|test\/hosts\/|inspector\/test\/faults/];
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is the one of Vitest.
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.findIndex((name) => name.test(moduleId));
      return index === -1 ? LONGEST.length : index;
    };
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

const TESTS = '{{packages/*,service,examples,examples/{conduit,nest},tools}/test,test/{hosts,simulation}}/**/*';
/*
 * What `npm test` leaves to `npm run check`, whose steps have the same names.
 * The contract on further hosts, and the runs of random clients on all of them.
 */
const MORE_HOSTS =
  'test/{hosts/{crowd,{express-4,fetch,hono,nest-express,nest-fastify,node}.isolated},simulation/simulation}.test.ts';
/** These run on older versions of Express, too; the last finds copies of Express that are not the application's. */
const ON_EXPRESS = [
  'packages/express/test/{copies-of-express,failures,refused-heads}.test.ts',
  'packages/inspector/test/express-routes.test.ts',
  'test/hosts/transaction-check.test.ts',
];
const OTHER_EXPRESS = 'packages/express/test/hidden-copies.isolated.test.ts';
/** What runs on older versions of NestJS, too. */
const WITH_NEST = 'test/versions/nest-12/*.test.ts';
const ON_NEST = [WITH_NEST, 'packages/nest/test/*.test.ts', 'test/hosts/nest-*.isolated.test.ts'];
const BROWSER = ['packages/inspector/test/browser/*.test.ts', 'service/test/docs-page.test.ts'];
/** Tests that start programs again and again: the service, servers of databases, compilers, the examples. */
const PROGRAMS = [
  'test/hosts/{check-faults,process}.test.ts',
  'packages/doctor/test/oxlint.test.ts',
  'packages/idempotency/test/rollback-on-timeout.test.ts',
  'packages/outbox/test/{kills,summer-time}.test.ts',
  'packages/replay/test/{command,failures}.test.ts',
  'packages/transaction/test/{postgres-cluster,postgres-storm,replicas}.test.ts',
  'service/test/{backup,events,log-output,migrations}.test.ts',
  'service/test/storage-faults.test.ts',
  'service/test/{small-heap.isolated,start,stock-command,stop,unusable-database}.test.ts',
  'examples/test/{programs,read-replicas}.test.ts',
  'examples/recipes/test/*.test.ts',
  'tools/test/{docs,graphs-agree,release}.test.ts',
];
/**
 * Tests that take long and seldom find a defect first: the second of two hosts, simulated orders of events, large objects, waits in
 * real time.
 */
const LONG = [
  'test/hosts/fastify.isolated.test.ts',
  'packages/container/test/{large-disposals,names-from-data}.isolated.test.ts',
  'packages/inspector/test/{bounds.isolated,canaries,faults}.test.ts',
  'packages/outbox/test/{commit-order,interleavings,plans}.test.ts',
  'packages/transaction/test/postgres-limits.test.ts',
  'service/test/{query-plans,time-limits}.test.ts',
];
/** Tests of `npm test`, on the databases that it leaves out. */
const ON_OTHER_DATABASES = [
  'packages/{idempotency,outbox,transaction}/test/*.contract.test.ts',
  'service/test/{stock,story}.test.ts',
  'test/hosts/express.isolated.test.ts',
];
const LEFT = [MORE_HOSTS, OTHER_EXPRESS, ...BROWSER, ...PROGRAMS, ...LONG];

export default defineConfig({
  resolve: { alias: sources() },
  test: {
    silent: 'passed-only',
    // No test is named for being slow: the time of a file stands behind its name.
    slowTestThreshold: 600_000,
    reporters: ['default', ...(process.env['GITHUB_ACTIONS'] ? ['github-actions'] : [])],
    // Most tests wait for a database, a timer or a socket. More workers than these would need more sessions than PostgreSQL has.
    maxWorkers: Math.min(8, 2 * availableParallelism()),
    sequence: { sequencer: LongestFirst },
    // Only a hang misses these, on a machine that is busy, too.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Less than a test has, so that it fails with what was expected.
    expect: { poll: { timeout: 120_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: [`${TESTS}.test.ts`],
          exclude: [`${TESTS}.isolated.test.ts`, ...LEFT],
          // Each worker loads each module once.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'isolated', include: [`${TESTS}.isolated.test.ts`], exclude: LEFT },
      },
      {
        extends: true,
        test: { name: 'contracts', include: [...LONG, ...ON_OTHER_DATABASES], env: { OTHER_DATABASES: '1' } },
      },
      { extends: true, test: { name: 'programs', include: PROGRAMS, isolate: false } },
      {
        extends: true,
        // Chromium does not wait, and shares no processor with other tests.
        test: {
          name: 'browser',
          include: BROWSER,
          isolate: false,
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 1 },
        },
      },
      ...(isInstalled('express')
        ? [
            {
              extends: true as const,
              resolve: { alias: [OLDER_EXPRESS] },
              test: { name: 'hosts', include: [MORE_HOSTS, OTHER_EXPRESS, ...ON_EXPRESS], env: { OLDER_EXPRESS: '1' } },
            },
          ]
        : []),
      ...(existsSync(join(import.meta.dirname, 'test/runtimes/node_modules'))
        ? [{ extends: true as const, test: { name: 'workerd', include: ['test/runtimes/*.test.ts'], isolate: false } }]
        : []),
      ...[10, 11, 12]
        .filter((version) => isInstalled(`nest-${version}`))
        .map((version) => ({
          extends: true as const,
          resolve: { alias: nest(version) },
          test:
            version === 12
              ? {
                  name: 'Nest 12',
                  include: [WITH_NEST, 'packages/nest/test/outcomes.test.ts'],
                  env: { NESTJS_CLS: '1' },
                }
              : { name: `Nest ${version}`, include: ON_NEST, env: { OLDER_NEST: String(version) } },
        })),
    ],
  },
});
