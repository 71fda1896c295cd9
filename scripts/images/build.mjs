import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeBase } from './base.mjs';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Builds deploy/<dockerfile> as it is.
 * @param {import('./podman.mjs').Podman} podman
 * @param {string} folder for what the base images are made from
 * @param {{ dockerfile: string, context: string, tag: string }} image
 */
export async function build(podman, folder, { dockerfile, context, tag }) {
  const path = join(ROOT, 'deploy', dockerfile);
  const text = readFileSync(path, 'utf8');
  for (const [, base] of text.matchAll(/^FROM (\S+)/gm)) await makeBase(podman, folder, base ?? '');
  const options = ['--pull=never', '--isolation=chroot', '--network=host', '--layers', '--format=docker'];
  const files = [...(text.includes('npm ci') ? npmSettings(folder) : []), '--file', path, '--tag', tag];
  await podman.show('build', ...options, ...files, join(ROOT, context));
}

/** npm in the build uses the registry and the certificates that npm uses on this machine. @param {string} folder */
function npmSettings(folder) {
  const setting = (/** @type {string} */ name) =>
    execFileSync('npm', ['config', 'get', name], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  const [registry, certificates] = [setting('registry'), setting('cafile')];
  const file = join(folder, 'npmrc');
  const inside = '/usr/local/etc/certificates.pem';
  const mounts = [
    `${file}:/usr/local/etc/npmrc:ro`,
    ...(certificates === 'null' ? [] : [`${certificates}:${inside}:ro`]),
  ];
  writeFileSync(file, `registry=${registry}\n${certificates === 'null' ? '' : `cafile=${inside}\n`}`);
  return mounts.flatMap((mount) => ['--volume', mount]);
}
