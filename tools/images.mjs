// Builds the images of deploy/ without a daemon, runs them, and prints which of their promises held:
//   npm run build && node tools/images.mjs [--host express]
// As root on Debian it installs podman, and makes the base images of the Dockerfiles itself, so it needs no registry of images.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { build } from './images/build.mjs';
import { Place } from './images/place.mjs';
import { Podman } from './images/podman.mjs';
import { poolerStory, STORIES } from './images/stories.mjs';
import { ensureInstalled } from '../service/chaos/support/program.mjs';

const { values } = parseArgs({
  options: { host: { type: 'string', multiple: true, default: ['express', 'fastify'] } },
});
const admin = new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test');
const folder = resolve(import.meta.dirname, '../.cache/images');
const SERVICE = { dockerfile: 'Dockerfile', context: '.', tag: 'ambit-service' };
const POOLER = { dockerfile: 'pgbouncer.Dockerfile', context: 'deploy', tag: 'ambit-pgbouncer' };
let broken = 0;

const missing = ['podman', 'runc', 'mmdebstrap'].filter((name) => !ensureInstalled(name));
if (missing.length > 0)
  throw new Error(`${missing.join(', ')} cannot be found: on Debian, as root, they are installed`);
mkdirSync(folder, { recursive: true });
const podman = new Podman(folder);
for (const image of [SERVICE, POOLER]) await buildAndMeasure(image);
for (const host of values.host) {
  console.log(`on ${host}`);
  for (const [promise, story] of Object.entries({ ...STORIES, ...poolerStory(folder) }))
    await check(promise, /** @type {'express' | 'fastify'} */ (host), story);
}
process.exitCode = broken > 0 ? 1 : 0;

/** @param {typeof SERVICE} image */
async function buildAndMeasure(image) {
  const start = performance.now();
  await build(podman, join(folder, 'base'), image);
  const seconds = Math.round((performance.now() - start) / 1000);
  const bytes = await podman.do('image', 'inspect', '--format', '{{.Size}}', image.tag);
  console.log(`${image.tag}: ${Math.round(Number(bytes) / 1e6)} MB, built in ${seconds} s`);
}

/** @param {string} promise @param {'express' | 'fastify'} host @param {import('./images/stories.mjs').Story} story */
async function check(promise, host, story) {
  const place = await Place.open(podman, SERVICE.tag, admin);
  try {
    console.log(`  held    ${promise}: ${await story(place, host)}`);
  } catch (error) {
    broken += 1;
    console.log(`  BROKEN  ${promise}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await place.close();
  }
}
