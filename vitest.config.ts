import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, { readonly default: string }>>;
  readonly imports?: Readonly<Record<string, { readonly node: string }>>;
}

/** Tests run on the sources of all packages: what is broken in one fails at once in those that use it. */
function sources(): { find: RegExp; replacement: string }[] {
  const packages = join(import.meta.dirname, 'packages');
  return readdirSync(packages).flatMap((folder) => {
    const manifest = readFileSync(join(packages, folder, 'package.json'), 'utf8');
    const { name, exports = {}, imports = {} } = JSON.parse(manifest) as Manifest;
    const instead = (specifier: string, built: string) => ({
      find: new RegExp(`^${specifier}$`),
      replacement: join(packages, folder, built.replace('/dist/', '/src/').replace(/\.js$/, '.ts')),
    });
    return [
      ...Object.entries(exports).map(([entry, built]) => instead(join(name, entry), built.default)),
      ...Object.entries(imports).map(([specifier, built]) => instead(specifier, built.node)),
    ];
  });
}

const TESTS = '{packages/*,service,examples,examples/conduit,scripts}/test/**/*';
/** What `npm test` leaves to `npm run check`: the contract on further hosts, and the runs of random clients on all of them. */
const MORE_HOSTS = 'packages/host-contract/test/{crowd,simulation,{express-4,fetch,hono,node}.isolated}.test.ts';

export default defineConfig({
  resolve: { alias: sources() },
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
