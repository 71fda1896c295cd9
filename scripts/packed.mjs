// What npm would publish, and a registry that serves it: a check installs it as users will.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';

/** @typedef {Record<string, string>} Tarballs the paths by the names of the packages */
/** @typedef {{ name: string, version: string, private?: boolean }} Manifest */

const root = resolve(import.meta.dirname, '..');

/** @returns {{ folder: string, manifest: Manifest }[]} */
const published = () =>
  readdirSync(join(root, 'packages'))
    .map((name) => join(root, 'packages', name))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }))
    .filter(({ manifest }) => !manifest.private);

/**
 * Packs every public package.
 * @param {string} folder for the tarballs
 * @returns {Tarballs}
 */
export function packInto(folder) {
  const packages = published();
  const workspaces = packages.map(({ manifest }) => `--workspace=${manifest.name}`);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, ...workspaces], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return Object.fromEntries(
    packages.map(({ manifest: { name, version } }) => [
      name,
      join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`),
    ]),
  );
}

/**
 * A registry that has the packed packages, and sends to the one that npm is configured for who asks for another package.
 * @param {Tarballs} tarballs
 * @returns {Promise<{ url: string, close(): void }>}
 */
export async function openRegistry(tarballs) {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { cwd: root, encoding: 'utf8' }).trim();
  const packages = new Map(published().map(({ manifest }) => [manifest.name, manifest]));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1);
    const [name = '', isTarball] = path.endsWith('.tgz') ? [path.slice(0, -'.tgz'.length), true] : [path];
    const manifest = packages.get(name);
    const file = tarballs[name];
    if (!manifest || !file) return response.writeHead(307, { location: new URL(path, upstream).href }).end();
    const tarball = readFileSync(file);
    if (isTarball) return response.end(tarball);
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    const dist = { tarball: `${url}/${name}.tgz`, integrity };
    const { version } = manifest;
    response.setHeader('content-type', 'application/json');
    return response.end(
      JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  return {
    url,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
