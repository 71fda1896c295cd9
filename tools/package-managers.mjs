// How each package manager installs the packed packages into a project.
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installed } from './binaries.mjs';

/** @typedef {import('./packed.mjs').Tarballs} Tarballs */
/**
 * `install` resolves with what the package manager printed, and rejects with it where that fails. No script of a dependency runs: what one
 * compiles or downloads says nothing about our packages.
 * @typedef {{ install(app: string, tarballs: Tarballs): Promise<string>, node(app: string, program: string): string, compiles: boolean }} Manager
 */

/** Of npm and pnpm. */
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
