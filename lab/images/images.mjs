/**
 * Builds the images of deploy/ without a daemon, runs them, and prints which of their promises held: `[--host express]`. As root on Debian
 * it installs podman, and makes the base images of the Dockerfiles itself, so it needs no registry of images.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readOptions } from '../kit/options.mjs';
import { need, stopwatch } from '../kit/program.mjs';
import { build } from './build.mjs';
import { Place } from './place.mjs';
import { Podman } from './podman.mjs';
import { poolerStory, STORIES } from './stories.mjs';

const folder = resolve(import.meta.dirname, '../../.cache/images');
const SERVICE = { dockerfile: 'Dockerfile', context: '.', tag: 'ambit-service' };
const POOLER = { dockerfile: 'pgbouncer.Dockerfile', context: 'deploy', tag: 'ambit-pgbouncer' };

for (const name of ['podman', 'runc', 'mmdebstrap']) need(name);
mkdirSync(folder, { recursive: true });
const podman = new Podman(folder);
for (const image of [SERVICE, POOLER]) {
  const since = stopwatch();
  await build(podman, join(folder, 'base'), image);
  const bytes = await podman.do('image', 'inspect', '--format', '{{.Size}}', image.tag);
  console.log(`${image.tag}: ${Math.round(Number(bytes) / 1e6)} MB, built in ${since()} s`);
}
for (const host of readOptions({}).hosts) {
  console.log(`on ${host}`);
  for (const [promise, story] of Object.entries({ ...STORIES, ...poolerStory(folder) }))
    await check(promise, host, story);
}

/** @param {string} promise @param {import('../kit/options.mjs').Host} host @param {import('./stories.mjs').Story} story */
async function check(promise, host, story) {
  const place = await Place.open(podman, SERVICE.tag);
  try {
    console.log(`  held    ${promise}: ${await story(place, host)}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`  BROKEN  ${promise}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await place.close();
  }
}
