// Nothing points upward between packages, and no package has an import cycle: reads every manifest and every import, and
// prints what breaks these rules.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { importsOf } from './imports.mjs';

const HTTP = ['express', 'fastify', 'node:http', 'node:http2', 'node:https'];
const SQL = ['@ambit/transaction/postgres', '@ambit/transaction/sqlite', 'better-sqlite3', 'node:sqlite', 'pg'];
/** All of Node's own modules. */
const NODE = 'node:*';
const PACKAGES = [
  '@ambit/container',
  '@ambit/transaction',
  '@ambit/host',
  '@ambit/http',
  '@ambit/express',
  '@ambit/fastify',
  '@ambit/fetch',
  '@ambit/hono',
];
/** What the tests of several packages share; no source may use it. */
const TEST_KIT = '@ambit/host-contract';
/** What a package over the transactions is built on, with what its tests need. */
const EXTENDS = ['@ambit/container', '@ambit/transaction', TEST_KIT];
/** What an HTTP host is built on. */
const CORE = ['@ambit/container', '@ambit/transaction', '@ambit/host', '@ambit/http'];

/**
 * Every package, the packages it may import, and what its source must know nothing of.
 * A package is listed before it exists, so that its first import already obeys.
 * @type {Record<string, Rule>}
 */
const RULES = {
  'packages/container': { mayUse: [], knowsNo: [...HTTP, ...SQL] },
  'packages/transaction': { mayUse: ['@ambit/container', TEST_KIT], knowsNo: [...HTTP, TEST_KIT] },
  // Each follows versions of others; see decision 0029.
  'packages/orm': { mayUse: EXTENDS, knowsNo: [...HTTP, '@ambit/container', TEST_KIT] },
  'packages/drivers': { mayUse: EXTENDS, knowsNo: [...HTTP, '@ambit/container', TEST_KIT] },
  'packages/outbox': { mayUse: EXTENDS, knowsNo: [...HTTP, ...SQL, '@ambit/container', TEST_KIT] },
  // What all hosts share, whatever the runtime.
  'packages/host': { mayUse: ['@ambit/container', '@ambit/transaction'], knowsNo: [...HTTP, ...SQL, NODE] },
  'packages/http': {
    mayUse: ['@ambit/container', '@ambit/transaction', '@ambit/host'],
    knowsNo: ['express', 'fastify', ...SQL],
  },
  'packages/express': { mayUse: [...CORE, TEST_KIT], knowsNo: ['fastify', ...SQL, TEST_KIT] },
  'packages/fastify': { mayUse: [...CORE, TEST_KIT], knowsNo: ['express', ...SQL, TEST_KIT] },
  'packages/fetch': {
    mayUse: ['@ambit/container', '@ambit/transaction', '@ambit/host'],
    knowsNo: [...HTTP, ...SQL, NODE],
  },
  'packages/hono': { mayUse: [...CORE, '@ambit/fetch'], knowsNo: ['express', 'fastify', ...SQL] },
  // Its tests alone run the hosts.
  'packages/inspector': { mayUse: PACKAGES, knowsNo: [...SQL, '@ambit/express', '@ambit/fastify'] },
  'packages/opentelemetry': { mayUse: PACKAGES, knowsNo: [...HTTP, ...SQL, '@ambit/express', '@ambit/fastify'] },
  // Converts programs; it imports nothing that it writes about.
  'packages/codemod': { mayUse: [], knowsNo: [...HTTP, ...SQL] },
  'packages/host-contract': { mayUse: PACKAGES, knowsNo: [] },
  service: {
    mayUse: [...PACKAGES, '@ambit/inspector', '@ambit/opentelemetry', '@ambit/outbox', TEST_KIT],
    knowsNo: [],
  },
  examples: { mayUse: 'any', knowsNo: [] },
  bench: { mayUse: 'any', knowsNo: [] },
};

/**
 * @typedef {{ mayUse: string[] | 'any', knowsNo: string[] }} Rule
 * @typedef {{ folder: string, path: string, rule: Rule | undefined, name: string, runtime: string[], all: string[] }} Package
 */

/**
 * @param {string} root the folder that holds the workspace
 * @returns {string[]} one sentence per broken rule
 */
export function brokenRules(root) {
  const workspace = manifestIn(root);
  const packages = packageFolders(root).map((folder) => readPackage(root, folder));
  const packageNames = packages.map((pkg) => pkg.name);
  return packages.flatMap((pkg) => {
    const { rule } = pkg;
    if (!rule) return [`${pkg.folder} is not in the table of packages in scripts/layering.mjs`];

    /** @param {string} name */
    const pointsUpward = (name) =>
      packageNames.includes(name) && name !== pkg.name && rule.mayUse !== 'any' && !rule.mayUse.includes(name);

    /** @param {string} file @param {string} specifier */
    const complaint = (file, specifier) => {
      // A file beside the sources builds them.
      const folders = relative(pkg.path, file).split(sep).slice(0, -1);
      const isTest = rule.mayUse === 'any' || folders.length === 0 || folders.includes('test');
      const name = packageNameOf(specifier);
      // A benchmark also measures what is no package.
      const isAtHome = rule.mayUse === 'any' || staysIn(pkg, file, specifier);
      if (specifier.startsWith('.')) return isAtHome ? '' : 'leaves its package with';
      // The `imports` of its own package.json.
      if (specifier.startsWith('#')) return '';
      if (pointsUpward(name)) return 'points upward with';
      const bans = (/** @type {string} */ banned) =>
        isWithin(banned, specifier) || (banned === NODE && isBuiltin(specifier));
      if (!isTest && rule.knowsNo.some(bans)) return 'must know nothing of';
      if (isBuiltin(specifier) || name === pkg.name) return '';
      const declared = isTest ? [...pkg.all, ...workspace.all] : pkg.runtime;
      // Some packages are types alone, imported without their prefix.
      return declared.includes(name) || declared.includes(`@types/${name}`)
        ? ''
        : 'is not allowed by its package.json to use';
    };

    const inManifest = pkg.all.filter(pointsUpward).map((name) => `${pkg.folder}/package.json points upward: ${name}`);
    const inSource = sourceFiles(pkg.path).flatMap((file) =>
      importsOf(file)
        .map((specifier) => ({ specifier, problem: complaint(file, specifier) }))
        .filter(({ problem }) => problem !== '')
        .map(({ specifier, problem }) => `${relative(root, file)} ${problem} '${specifier}'`),
    );
    return [...inManifest, ...inSource, ...importCycles(root, pkg)];
  });
}

/**
 * Files with circular imports cannot be loaded one by one. Types may refer to each other.
 * @param {string} root @param {Package} pkg
 * @returns {string[]} one sentence per cycle
 */
function importCycles(root, pkg) {
  const source = join(pkg.path, 'src');
  if (!existsSync(source)) return [];
  const files = sourceFiles(source);
  const imports = new Map(files.map((file) => [file, filesImportedBy(file, files)]));
  /** @type {Set<string>} */
  const done = new Set();
  /** @type {string[]} */
  const found = [];
  for (const file of files) follow(file, []);
  return found;

  /** @param {string} file @param {string[]} path */
  function follow(file, path) {
    if (path.includes(file)) {
      const cycle = [...path.slice(path.indexOf(file)), file].map((one) => relative(source, one));
      found.push(`${relative(root, source)} has an import cycle: ${cycle.join(' -> ')}`);
    }
    if (done.has(file)) return;
    done.add(file);
    for (const imported of imports.get(file) ?? []) follow(imported, [...path, file]);
  }
}

/** @param {string} file @param {string[]} files */
function filesImportedBy(file, files) {
  return importsOf(file, { withTypes: false })
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => resolve(dirname(file), specifier.replace(/\.js$/, '.ts')))
    .filter((imported) => files.includes(imported));
}

/** @param {string} root */
function packageFolders(root) {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`);
  return [...packages, 'service', 'examples', 'bench'].filter((folder) => existsSync(join(root, folder)));
}

/** @param {string} root @param {string} folder @returns {Package} */
function readPackage(root, folder) {
  const path = join(root, folder);
  return { folder, path, rule: RULES[folder], ...manifestIn(path) };
}

/** @param {string} path */
function manifestIn(path) {
  const file = join(path, 'package.json');
  /** @type {{ name?: string } & Record<string, Record<string, string> | undefined>} */
  const manifest = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const runtime = ['dependencies', 'peerDependencies'].flatMap((field) => Object.keys(manifest[field] ?? {}));
  return {
    name: manifest.name ?? path,
    runtime,
    all: [...runtime, ...Object.keys(manifest['devDependencies'] ?? {})],
  };
}

/** @param {string} path @returns {string[]} */
function sourceFiles(path) {
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    if (['dist', 'node_modules'].includes(entry.name)) return [];
    if (entry.isDirectory()) return sourceFiles(join(path, entry.name));
    return /\.[cm]?[jt]s$/.test(entry.name) ? [join(path, entry.name)] : [];
  });
}

/** @param {Package} pkg @param {string} file @param {string} specifier */
function staysIn(pkg, file, specifier) {
  return isWithin(pkg.path, resolve(file, '..', specifier), sep);
}

/** @param {string} specifier `@scope/name/deep` or `name/deep` */
function packageNameOf(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** @param {string} outer @param {string} inner */
function isWithin(outer, inner, separator = '/') {
  return inner === outer || inner.startsWith(outer + separator);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const broken = brokenRules(process.cwd());
  for (const sentence of broken) console.error(sentence);
  process.exitCode = broken.length > 0 ? 1 : 0;
}
