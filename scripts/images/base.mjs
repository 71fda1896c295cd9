// The base images that the Dockerfiles name, for machines that reach Debian and npm, but no registry of images.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installed, nodeBinary } from '../binaries.mjs';

/** What the slim images leave out, too. */
const LEFT_OUT = ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*'];

/**
 * @param {import('./podman.mjs').Podman} podman
 * @param {string} folder
 * @param {string} image as in `debian:trixie-slim` or `node:24-slim`
 */
export async function makeBase(podman, folder, image) {
  const [, name, version] = /^(debian|node):(\w+)-slim$/.exec(image) ?? [];
  if (!name || !version) throw new Error(`Only slim images of Debian and Node can be made here, not ${image}`);
  if ((await podman.try('image', 'exists', `docker.io/library/${image}`)).code === 0) return;
  if (name === 'debian') return importDebian(podman, folder, version);
  const debian = 'debian:bookworm-slim';
  await makeBase(podman, folder, debian);
  const context = nodeContext(folder, version, debian);
  await podman.do('build', '--pull=never', '--isolation=chroot', '--tag', `docker.io/library/${image}`, context);
}

/** @param {import('./podman.mjs').Podman} podman @param {string} folder @param {string} release */
async function importDebian(podman, folder, release) {
  mkdirSync(folder, { recursive: true });
  const archive = join(folder, `${release}.tar`);
  const options = LEFT_OUT.map((path) => `--dpkgopt=path-exclude=${path}`);
  execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', ...options, release, archive], { stdio: 'inherit' });
  await podman.do('import', '--change', 'CMD bash', archive, `docker.io/library/debian:${release}-slim`);
}

/**
 * Node, npm and the user `node`, as the official image has them.
 * @param {string} folder
 * @param {string} version
 * @param {string} debian
 */
function nodeContext(folder, version, debian) {
  const context = join(folder, `node-${version}`);
  const bin = join(context, 'root/usr/local/bin');
  const modules = join(context, 'root/usr/local/lib/node_modules');
  if (existsSync(join(context, 'Dockerfile'))) return context;
  for (const path of [bin, modules]) mkdirSync(path, { recursive: true });
  execFileSync('cp', [nodeBinary(version), bin]);
  execFileSync('cp', ['-R', dirname(dirname(installed('npm', '11', 'npm/bin/npm-cli.js'))), modules]);
  for (const name of ['npm', 'npx']) symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(bin, name));
  writeFileSync(
    join(context, 'Dockerfile'),
    [
      `FROM ${debian}`,
      'RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node',
      'COPY root /',
      'CMD ["node"]',
    ].join('\n'),
  );
  return context;
}
