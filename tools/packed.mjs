// What npm would publish, and a registry that serves it: a check installs it as users will.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { manifestOf, publicPackages } from './entry-points.mjs';

/** @typedef {Record<string, string>} Tarballs the paths by the names of the packages */
/** @typedef {{ name: string, version: string, filename: string, size: number, unpackedSize: number, files: { path: string }[] }} Packed */

const root = resolve(import.meta.dirname, '..');

/**
 * The npm that runs this script, by its path, because Windows starts no `npm.cmd` without a shell; or else the one of the PATH.
 * @param {string} cwd
 * @param {string[]} args
 */
export function npm(cwd, ...args) {
  const path = process.env['npm_execpath'];
  const [command, first] = path ? [process.execPath, [path]] : ['npm', []];
  const { status, stdout } = spawnSync(command, [...first, ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // What failed is there: the compiler, which `npm pack` runs, writes to it.
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${stdout}`);
  return stdout;
}

/**
 * @param {string} repository this one, or a copy
 * @param {readonly string[]} folders of its packages
 * @param {string} destination of the tarballs
 * @returns {Packed[]}
 */
export function pack(repository, folders, destination) {
  const workspaces = folders.map((folder) => `--workspace=${folder}`);
  const options = ['--json', '--silent', '--pack-destination', resolve(destination)];
  return JSON.parse(npm(repository, 'pack', ...options, ...workspaces));
}

/**
 * Packs every public package.
 * @param {string} folder for the tarballs
 * @returns {Tarballs}
 */
export function packInto(folder) {
  const packed = pack(root, publicPackages(root), folder);
  return Object.fromEntries(packed.map(({ name, filename }) => [name, join(folder, filename)]));
}

/**
 * A registry that has the packed packages, and sends to the one that npm is configured for who asks for another package.
 * @param {Tarballs} tarballs
 * @returns {Promise<{ url: string, close(): void }>}
 */
export async function openRegistry(tarballs) {
  const upstream = npm(root, 'config', 'get', 'registry').trim();
  const packages = new Map(
    publicPackages(root)
      .map(manifestOf)
      .map((manifest) => [manifest.name, manifest]),
  );
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
