// A copy of the repository, its changes for a release, what npm would publish of it, a registry that serves it, and package managers that install it: as users have it.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, join, posix, resolve } from 'node:path';
import { promisify } from 'node:util';
import { installed, nodeBinary } from './on-node.mjs';
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
  // The compiler, which `npm pack` runs, writes its errors there.
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

/** The one that npm is configured for. @param {string} repository */
export function registryOf(repository) {
  return npm(repository, 'config', 'get', 'registry').trim();
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
  const upstream = registryOf(root);
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

/**
 * Copies what `git clone` gives, with the changes not committed yet: every file that git does not ignore, so nothing that was built.
 * @param {string} folder
 */
export function copyInto(folder) {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  for (const file of listed.split('\0').filter((name) => name !== '' && existsSync(name)))
    cpSync(file, join(folder, file));
}

/**
 * The same after `npm ci`: with the dependencies of this folder.
 * @param {string} folder
 */
export function cloneInto(folder) {
  copyInto(folder);
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  for (const name of readdirSync('node_modules').filter((entry) => entry !== '@ambit'))
    link(join('node_modules', name), folder);
  // The packages import each other, and have to find those of the clone.
  cpSync('node_modules/@ambit', join(folder, 'node_modules/@ambit'), { recursive: true, verbatimSymlinks: true });
  for (const name of readdirSync('packages').map((entry) => join('packages', entry, 'node_modules')))
    if (existsSync(name)) link(name, folder);
}

/** @param {string} name @param {string} folder */
function link(name, folder) {
  symlinkSync(resolve(name), join(folder, name));
}

/**
 * `install` resolves with what the package manager printed, and rejects with it where that fails. No script of a dependency runs: what one
 * compiles or downloads says nothing about our packages.
 * @typedef {{ install(app: string, tarballs: Tarballs): Promise<string>, node(app: string, program: string): string, compiles: boolean }} Manager
 */

/** The options of npm and pnpm. */
const OPTIONS = ['--prefer-offline', '--ignore-scripts'];

/** @type {(command: string, args: readonly string[], cwd: string, env?: NodeJS.ProcessEnv) => string} */
const run = (command, args, cwd, env = process.env) =>
  execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** @type {(command: string, args: readonly string[], cwd: string, env?: NodeJS.ProcessEnv) => Promise<string>} */
async function said(command, args, cwd, env = process.env) {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, args, { cwd, env, maxBuffer: 2 ** 26 });
    return stdout + stderr;
  } catch (error) {
    const { stdout = '', stderr = '' } = /** @type {{ stdout?: string, stderr?: string }} */ (error);
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

/**
 * Writes the tarballs into the manifest: as dependencies, and as what the packages get that they need of each other.
 * @param {string} app
 * @param {Tarballs} tarballs
 * @param {(files: Record<string, string>) => object} replacements
 */
function dependOn(app, tarballs, replacements) {
  const manifestFile = join(app, 'package.json');
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'));
  const files = Object.fromEntries(Object.entries(tarballs).map(([name, path]) => [name, `file:${path}`]));
  const dependencies = { ...manifest.dependencies, ...files };
  writeFileSync(manifestFile, JSON.stringify({ ...manifest, dependencies, ...replacements(files) }));
}

const pnpm = () => installed('pnpm', '10', '.bin/pnpm');
const yarn = () => installed('@yarnpkg/cli-dist', '4', '@yarnpkg/cli-dist/bin/yarn.js');
const yarnEnv = () => ({
  ...process.env,
  YARN_ENABLE_TELEMETRY: '0',
  YARN_NPM_REGISTRY_SERVER: run('npm', ['config', 'get', 'registry'], '.').trim().replace(/\/$/, ''),
  YARN_UNSAFE_HTTP_WHITELIST: '*',
});

/** How each package manager installs tarballs that depend on each other, and runs a program of the project. @type {Record<string, Manager>} */
export const MANAGERS = {
  npm: {
    install: (app, tarballs) =>
      said('npm', ['install', ...OPTIONS, '--no-audit', '--no-fund', ...Object.values(tarballs)], app),
    node: (app, program) => run(process.execPath, [program], app),
    compiles: true,
  },
  pnpm: {
    async install(app, tarballs) {
      dependOn(app, tarballs, (overrides) => ({ pnpm: { overrides } }));
      return said(pnpm(), ['install', ...OPTIONS, '--ignore-workspace', '--no-frozen-lockfile'], app);
    },
    node: (app, program) => run(process.execPath, [program], app),
    compiles: true,
  },
  // Plug'n'Play: there is no node_modules, and a package finds only what its manifest names.
  yarn: {
    async install(app, tarballs) {
      dependOn(app, tarballs, (resolutions) => ({ resolutions }));
      // The projects of a check share what Yarn downloads, and nothing stays after it.
      writeFileSync(join(app, '.yarnrc.yml'), 'nodeLinker: pnp\nenableScripts: false\nglobalFolder: ../.yarn\n');
      writeFileSync(join(app, 'yarn.lock'), '');
      return said(process.execPath, [yarn(), 'install', '--no-immutable'], app, yarnEnv());
    },
    node: (app, program) => run(process.execPath, [yarn(), 'node', program], app, yarnEnv()),
    // TypeScript 7 does not read its files.
    compiles: false,
  },
};

const MARKDOWN_LINK = /(\]\(|\b(?:src|srcset|href)=")(?![a-z]+:|#)([^)\s"]+)/g;

/**
 * Writes into every public package below `clone` what depends on the forge: `repository`, `homepage`, `bugs`, and a README whose links lead
 * somewhere from the page of the package.
 * @param {string} clone
 * @param {string} repository its address on the forge
 * @param {string} commit that is published
 */
export function describePublished(clone, repository, commit) {
  for (const folder of publicPackages(clone)) {
    const directory = `packages/${basename(folder)}`;
    const described = {
      ...manifestOf(folder),
      homepage: `${repository}/tree/${commit}/${directory}#readme`,
      bugs: `${repository}/issues`,
      repository: { type: 'git', url: `git+${repository}.git`, directory },
    };
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(described, undefined, 2)}\n`);
    const readme = join(folder, 'README.md');
    const text = readFileSync(readme, 'utf8');
    writeFileSync(readme, withAbsoluteLinks(text, directory, `${repository}/blob/${commit}`));
  }
  // Packages print them: `explain` of the container, and of the doctor.
  for (const page of ['docs/errors.md', 'docs/rules.md']) {
    const file = join(clone, page);
    writeFileSync(file, withAbsoluteLinks(readFileSync(file, 'utf8'), 'docs', `${repository}/blob/${commit}`));
  }
}

/**
 * @param {string} markdown
 * @param {string} directory of the page
 * @param {string} base of the repository's files
 */
function withAbsoluteLinks(markdown, directory, base) {
  return markdown.replaceAll(MARKDOWN_LINK, (_, before, to) => {
    const path = posix.join(directory, to);
    return `${before}${base}/${path}${/\.(png|svg)$/.test(to) ? '?raw=true' : ''}`;
  });
}

const TOOL = '.changeset/node_modules/@changesets/cli/bin.js';

/** The changes that wait for a release. @param {string} clone @returns {string[]} their files */
export function pendingChanges(clone) {
  return readdirSync(join(clone, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md');
}

/**
 * Sets the versions as `npm run changeset -- version` does, in a copy of the repository.
 * @param {string} clone
 */
export function setVersions(clone) {
  if (!existsSync(TOOL)) execFileSync('npm', ['ci', '--silent', '--prefix', '.changeset'], { stdio: 'inherit' });
  execFileSync(nodeBinary('24'), [resolve(TOOL), 'version'], { cwd: clone, stdio: ['ignore', 'ignore', 'inherit'] });
}
