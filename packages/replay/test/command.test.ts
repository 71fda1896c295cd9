import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Container } from '@ambit/container';
import type { DatabasePool } from '@ambit/transaction';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { record } from '../src/index.js';
// @ts-expect-error -- a program of a user, without types
import { app as given, pool as givenPool } from './support/app.mjs';

const app = given as { fetch(request: Request): Promise<Response> };
const pool = givenPool as DatabasePool;
const APP = join(import.meta.dirname, 'support/app.mjs');
const AMBIT = join(import.meta.dirname, '../../container/dist/main.js');
let project: string;

/** In a process of its own, on what was built, as `npx ambit` runs it. */
async function ambit(args: readonly string[], env = {}): Promise<{ code: number; text: string }> {
  const running = promisify(execFile)(process.execPath, args.slice(), {
    cwd: project,
    env: { ...process.env, ...env },
  });
  return running.then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    (failed: unknown) => {
      const { code, stdout, stderr } = failed as { code: number; stdout: string; stderr: string };
      return { code, text: stdout + stderr };
    },
  );
}

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'replay-'));
  await symlink(join(import.meta.dirname, '../../../node_modules'), join(project, 'node_modules'));
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  await pool.query('CREATE TABLE products (name TEXT, price INTEGER)');
  await pool.query("INSERT INTO products VALUES ('tea', 5), ('salt', 2)");
  const recorder = record(new Container({ tags: ['application'] }), {
    folder: join(project, 'recordings'),
    when: () => true,
    responses: true,
  });
  const handle = recorder.fetch(app.fetch);
  for (const name of ['tea', 'salt', 'tea', 'pepper'])
    await handle(new Request(`http://localhost/products?name=${name}`)).catch(() => undefined);
  await vi.waitUntil(() => recorder.kept === 4, 120_000);
  recorder.stop();
});
afterAll(() => rm(project, { recursive: true }));

test('--all says how many responses are equal, and the first difference of each other one', async () => {
  const all = [AMBIT, 'replay', '--all', 'recordings', '--app', APP];
  expect(await ambit(all)).toEqual({ code: 0, text: '4 responses equal, 0 differ\n' });
  // Its timer would keep the process.
  const module = `export { app } from ${JSON.stringify(pathToFileURL(APP).href)}; setInterval(() => undefined, 1000);`;
  await writeFile(join(project, 'timer.mjs'), module);
  expect(await ambit(all.with(all.length - 1, 'timer.mjs'))).toMatchObject({ code: 0 });
  const { code, text } = await ambit(all, { REPLAY_PRICE: '1' });
  expect([code, text]).toEqual([
    1,
    expect.stringMatching(/^1 responses equal, 3 differ\n[^]*: body.price is 6, the recording has 5/),
  ]);
});

test('--write makes a test that fails as the request did, for the runner of the project', async () => {
  const names = await readdir(join(project, 'recordings'));
  const failed = await Promise.all(
    names.map(async (name) =>
      (await readFile(join(project, 'recordings', name), 'utf8')).includes('RangeError') ? name : '',
    ),
  );
  const file = join('recordings', failed.find(Boolean) ?? '');
  const { text: said } = await ambit([AMBIT, 'replay', file, '--write', '--app', relative(project, APP)]);
  const path = said.replace('Written: ', '').trim();
  const text = await readFile(join(project, path), 'utf8');
  expect(text).toContain("import { test } from 'node:test';");
  expect(text).toContain('There is no such product');
  expect(await ambit(['--test', path])).toMatchObject({
    code: 1,
    text: expect.stringMatching(/RangeError: There is no such product, at [^]*app\.mjs:\d+[^]*# fail 1/) as string,
  });
  const written = async (manifest: string): Promise<string> => {
    await writeFile(join(project, 'package.json'), manifest);
    const { text: output } = await ambit([AMBIT, 'replay', file, '--write', '--app', 'src/app.ts']);
    const [, place = ''] = /^Written: (.*)$/m.exec(output) ?? [];
    return `${output}${await readFile(join(project, place), 'utf8')}`;
  };
  const ofJest = await written('{ "devDependencies": { "jest": "30" } }');
  expect(ofJest).toContain('src/app.ts does not exist: make the application there in a function createApp()');
  expect(ofJest).toContain('If Jest does not find the test');
  expect(ofJest).toContain("jest.requireActual('../../src/app').app");
  // As in NestJS's starter.
  await mkdir(join(project, 'src'));
  await writeFile(join(project, 'src/app.ts'), 'export async function createApp() {}');
  const nest =
    '{ "jest": { "rootDir": "src", "testRegex": ".*\\\\.spec\\\\.ts$" }, "devDependencies": { "jest": "30" } }';
  const ofNest = await written(nest);
  expect(ofNest).toMatch(/^Written: src\/replays\/[\da-f]{6}\.spec\.ts\nimport/);
  expect(ofNest).toMatch(
    /jest\.requireActual\('\.\.\/app'\)\.createApp\(\);[^]*'src\/replays\/[\da-f]{6}\.json'[^]*, 30_000\);/,
  );
  await writeFile(join(project, 'src/app.ts'), 'export const app = 1;');
  const jest = '{ "type": "module", "devDependencies": { "jest": "30" } }';
  expect(await written(jest)).toContain("await import('../../src/app')");
  expect(await written('{ "devDependencies": { "vitest": "4" } }')).toContain("await import('../../src/app.js')");
  expect(await ambit([AMBIT, 'replay'])).toMatchObject({
    code: 2,
    text: expect.stringContaining('Usage: ambit replay') as string,
  });
});
