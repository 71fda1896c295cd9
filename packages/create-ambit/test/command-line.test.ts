import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { run } from '../src/command-line.js';

const CHOICES = ['--host', 'hono', '--database', 'postgres', '--query-builder', 'knex'];

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'create-ambit-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
});

/** Runs the command; with text that is typed, in a terminal. */
async function started(args: readonly string[], { typed, userAgent }: { typed?: string; userAgent?: string } = {}) {
  const [input, output, error] = [new PassThrough(), new PassThrough(), new PassThrough()];
  input.end(typed);
  const code = await run(args, { cwd, userAgent, input, output, error, isInteractive: typed !== undefined });
  output.end();
  error.end();
  return { code, shown: await text(output), complaint: await text(error) };
}

const manifest = (folder: string) => JSON.parse(readFileSync(join(cwd, folder, 'package.json'), 'utf8'));

test('with all flags it asks nothing, and says what comes next', async () => {
  const { code, shown } = await started(['shops/my-shop', ...CHOICES]);
  expect(code).toBe(0);
  expect(shown).toContain(
    `  cd ${join('shops', 'my-shop')}\n  npm install\n  docker compose up --detach --wait\n  npm run dev\n`,
  );
  expect(Object.keys(manifest('shops/my-shop').dependencies)).toEqual(expect.arrayContaining(['hono', 'knex', 'pg']));
});

test('in a terminal it asks for what is not given, again after what is not offered, and an empty line is the default', async () => {
  const { code, shown } = await started(['--database', 'postgres'], { typed: 'my shop\nmy-shop\nkoa\nfastify\n\n' });
  expect(code).toBe(0);
  expect(shown).toContain("npm allows no package named 'my shop'");
  expect(shown).toContain("'koa' is not offered. Choose express, fastify or hono.");
  expect(shown).not.toContain('Database');
  expect(Object.keys(manifest('my-shop').dependencies)).toEqual([
    '@ambit/container',
    '@ambit/fastify',
    '@ambit/transaction',
    'fastify',
    'pg',
  ]);
});

test('a dialog that is left writes nothing', async () => {
  const { code, complaint } = await started([], { typed: 'my-shop\nhono\n' });
  expect({ code, complaint }).toEqual({ code: 2, complaint: '\nCancelled. Nothing was written.\n' });
  expect(readdirSync(cwd)).toEqual([]);
});

test('without a terminal it names what is missing, in a command that works', async () => {
  const { code, complaint } = await started(['my-shop', '--host', 'hono']);
  expect(code).toBe(2);
  expect(complaint).toContain('Give --database, --query-builder, or --yes for the defaults');
  const [, flags = ''] = /npm create ambit@latest (.*)/.exec(complaint) ?? [];
  expect((await started(flags.replace('-- ', '').split(' '))).code).toBe(0);
});

test('--yes takes the defaults', async () => {
  expect((await started(['--yes'])).code).toBe(0);
  expect(Object.keys(manifest('my-shop').dependencies)).toContain('express');
});

test.each([
  [['my-shop', '--host', 'koa', '--yes'], "'koa' is not offered. Choose express, fastify or hono."],
  [['My Shop', '--yes'], "npm allows no package named 'My Shop'"],
  [['fs', '--yes'], "npm allows no package named 'fs'"],
  [['my-shop', '--name', '../x', '--yes'], "npm allows no package named '../x'"],
  [['my-shop', 'another', '--yes'], 'Name one folder, not 2: my-shop, another'],
  [['--force'], "Unknown option '--force'"],
  [['full', '--yes'], 'is not empty'],
])('%j is refused', async (args, why) => {
  mkdirSync(join(cwd, 'full'));
  writeFileSync(join(cwd, 'full/notes.txt'), '');
  const { code, complaint } = await started(args);
  expect(code).toBe(2);
  expect(complaint).toContain(why);
  expect(readdirSync(cwd)).toEqual(['full']);
  expect(readdirSync(join(cwd, 'full'))).toEqual(['notes.txt']);
});

test('the folder may be the current one, with a repository in it', async () => {
  mkdirSync(join(cwd, '.git'));
  const { code, shown } = await started(['.', '--name', '@shops/first', '--yes']);
  expect(code).toBe(0);
  expect(shown).toContain('Next:\n\n  npm install\n');
  expect(manifest('.').name).toBe('@shops/first');
});

test.each([
  ['pnpm/10.1.0 npm/? node/v22.0.0 linux x64', 'pnpm'],
  ['yarn/4.9.1 npm/? node/v22.0.0 linux x64', 'yarn'],
  ['bun/1.3.0 npm/? node/v22.0.0 linux x64', 'bun'],
  ['npm/11.0.0 node/v22.0.0 linux x64 workspaces/false', 'npm'],
])('with %s it names the commands of %s', async (userAgent, name) => {
  const { shown } = await started(['my-shop', '--yes'], { userAgent });
  expect(shown).toContain(`  ${name} install\n  ${name} run dev\n`);
  expect(readFileSync(join(cwd, 'my-shop/README.md'), 'utf8')).toContain(`${name} run test`);
  // TypeScript 7 finds no packages with Plug'n'Play.
  expect(existsSync(join(cwd, 'my-shop/.yarnrc.yml'))).toBe(name === 'yarn');
});

test('--help lists all that is offered, and --version is that of the package', async () => {
  expect((await started(['--help'])).shown).toContain('--query-builder   none, kysely, drizzle, knex');
  expect((await started(['--version'])).shown).toMatch(/^\d+\.\d+\.\d+\n$/);
});
