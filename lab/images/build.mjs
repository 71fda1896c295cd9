// Builds the images of deploy/ as they are, and the base images that they name, for machines that reach Debian and npm, but no registry
// of images.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { installed, nodeBinary } from '../../tools/on-node.mjs';

const ROOT = resolve(import.meta.dirname, '../..');
/** What the slim images leave out, too. */
const LEFT_OUT = ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*'];

/**
 * Builds deploy/<dockerfile> as it is, but for the digests: the base images that are made here have others.
 * @param {import('./podman.mjs').Podman} podman
 * @param {string} folder for what the base images are made from
 * @param {{ dockerfile: string, context: string, tag: string }} image
 */
export async function build(podman, folder, { dockerfile, context, tag }) {
  const text = readFileSync(join(ROOT, 'deploy', dockerfile), 'utf8').replace(/@sha256:[0-9a-f]+/g, '');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, dockerfile);
  writeFileSync(path, text);
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

/**
 * @param {import('./podman.mjs').Podman} podman
 * @param {string} folder
 * @param {string} image as in `debian:trixie-slim` or `node:24-slim`
 */
async function makeBase(podman, folder, image) {
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
