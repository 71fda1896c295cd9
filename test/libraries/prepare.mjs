// Installs what others publish, for the folders beside this one, and puts the built packages there as an application has them:
// node test/libraries/prepare.mjs
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { spawnSync } from 'node:child_process';

const here = new URL('.', import.meta.url);
const nodeModules = new URL('node_modules/', here);

if (!existsSync(nodeModules)) {
  // None of the packages has to be compiled; what a script would download is not needed.
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: here,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}
for (const name of [
  'container',
  'transaction',
  'orm',
  'drivers',
  'outbox',
  'idempotency',
  'http',
  'express',
  'fastify',
  'fetch',
  'hono',
  'nest',
  'testing',
  'replay',
  'doctor',
]) {
  const installed = new URL(`@ambit/${name}/`, nodeModules);
  rmSync(installed, { recursive: true, force: true });
  mkdirSync(installed, { recursive: true });
  for (const part of ['package.json', 'dist']) {
    cpSync(new URL(`../../packages/${name}/${part}`, here), new URL(part, installed), { recursive: true });
  }
}
for (const name of ['orm', 'jobs', 'pools', 'outbox', 'histories', 'containers', 'frameworks', 'doctor']) {
  const link = new URL(`../${name}/node_modules`, here);
  if (!existsSync(link)) symlinkSync('../libraries/node_modules', link, 'junction');
}
