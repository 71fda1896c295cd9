import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
mkdirSync(join(ROOT, '.cache'), { recursive: true });
// Below the root, so that it finds Vitest.
const folder = mkdtempSync(join(ROOT, '.cache/last-line-'));
afterAll(() => rmSync(folder, { recursive: true }));

writeFileSync(
  join(folder, 'vitest.config.mjs'),
  `import { LastLine } from ${JSON.stringify(join(ROOT, 'scripts/last-line.mjs'))};
  export default { test: { reporters: ['default', new LastLine()], include: ['*.check.mjs'] } };`,
);
const FILES = {
  passes: `test('a', () => {}); test('b', () => {});
    for (const server of ['Redis', 'MariaDB', 'PostgreSQL']) test.skipIf(server !== '')('on ' + server, () => {});`,
  fails: `test('a', () => { throw new Error('no'); }); test('b', () => {});`,
  breaks: `throw new Error('before every test');`,
  leaks: `test('a', () => {}); setTimeout(() => { throw new Error('late'); }); test('b', () => new Promise((r) => setTimeout(r, 50)));`,
};
for (const [name, text] of Object.entries(FILES))
  writeFileSync(join(folder, `${name}.check.mjs`), `import { test } from 'vitest';\n${text}`);

/** Nobody listens at these. */
const NOBODY = {
  REDIS_URL: 'redis://127.0.0.1:1',
  DATABASE_URL: 'postgres://127.0.0.1:2/test',
  MARIADB_URL: 'mariadb://127.0.0.1:3',
};
const REST = '; `npm run check -- programs browser hosts` runs the rest';

test.each([
  [
    ['passes'],
    0,
    '2 passed, 3 skipped: 1 on Redis (no server at 127.0.0.1:1), 1 on MariaDB (no server at 127.0.0.1:3), 1 on PostgreSQL (no server at 127.0.0.1:2)',
  ],
  [['fails'], 1, '1 failed, 1 passed, nothing skipped'],
  [['breaks', 'passes'], 1, expect.stringMatching(/^1 file with an error, 2 passed, 3 skipped: /)],
  [['leaks'], 1, '1 error outside of tests, 2 passed, nothing skipped'],
])('of %j, with the exit code %i', (files, code, line) => {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--root', folder, ...files];
  const run = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', env: { ...process.env, ...NOBODY } });
  const last = run.stdout.trimEnd().split('\n').at(-1) ?? '';
  expect([run.status, last.replace(REST, '')]).toEqual([code, line]);
  expect(last).toContain(REST);
});
