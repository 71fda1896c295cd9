// A project outside this repository: it has only the packed tarballs, strict compiler options, and one app per host.
//   node scripts/consumer.mjs              installed with npm
//   node scripts/consumer.mjs pnpm yarn    with others; Yarn with Plug'n'Play
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { installed } from './binaries.mjs';
import { packInto } from './packed.mjs';

/** @typedef {import('./packed.mjs').Tarballs} Tarballs */
/** @typedef {{ install(app: string, tarballs: Tarballs): void, node(app: string, program: string): string, compiles: boolean }} Manager */

/** @type {(command: string, args: readonly string[], cwd: string, env?: NodeJS.ProcessEnv) => string} */
const run = (command, args, cwd, env = process.env) =>
  execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

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
const MANAGERS = {
  npm: {
    install: (app, tarballs) =>
      void run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...Object.values(tarballs)], app),
    node: (app, program) => run(process.execPath, [program], app),
    compiles: true,
  },
  pnpm: {
    install(app, tarballs) {
      dependOn(app, tarballs, (overrides) => ({ pnpm: { overrides } }));
      run(pnpm(), ['install', '--silent', '--ignore-workspace', '--no-frozen-lockfile'], app);
    },
    node: (app, program) => run(process.execPath, [program], app),
    compiles: true,
  },
  // Plug'n'Play: there is no node_modules, and a package finds only what its manifest names.
  yarn: {
    install(app, tarballs) {
      dependOn(app, tarballs, (resolutions) => ({ resolutions }));
      writeFileSync(join(app, '.yarnrc.yml'), 'nodeLinker: pnp\nenableGlobalCache: false\n');
      writeFileSync(join(app, 'yarn.lock'), '');
      run(process.execPath, [yarn(), 'install', '--no-immutable'], app, yarnEnv());
    },
    node: (app, program) => run(process.execPath, [yarn(), 'node', program], app, yarnEnv()),
    // TypeScript 7 does not read its files.
    compiles: false,
  },
};

const root = resolve(import.meta.dirname, '..');
const asked = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), 'ambit-consumer-'));

/** @param {string} project */
const compile = (project) =>
  void execFileSync(join(root, 'node_modules/.bin/tsc'), ['--project', project], { stdio: ['ignore', 2, 2] });

try {
  const tarballs = packInto(scratch);
  let compiled = '';
  for (const name of new Set(asked.length > 0 ? asked : ['npm'])) {
    const manager = MANAGERS[name];
    if (!manager) throw new Error(`No package manager named ${name}. They are ${Object.keys(MANAGERS).join(', ')}.`);
    const app = join(scratch, name);
    cpSync(join(root, 'scripts/consumer'), app, { recursive: true });
    manager.install(app, tarballs);
    if (manager.compiles) {
      compile(app);
      compiled = join(app, 'out');
    } else if (compiled) cpSync(compiled, join(app, 'out'), { recursive: true });
    else throw new Error(`${name} runs what the project of another package manager compiled: name one before it`);
    for (const program of ['express-app.js', 'fastify-app.js', 'fetch-app.js', 'hono-app.js'])
      process.stdout.write(`${name}, ${program}: ${manager.node(app, join('out', program))}`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
