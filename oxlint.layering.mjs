// Which package may import which, what its source must know nothing of, and that manifests declare what is imported:
// `npm run check -- layering`. Cycles are found by `npm run lint`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const HTTP = '(express|fastify|node:https?|node:http2)';
const SQL =
  '(@ambit/transaction/postgres|@ambit/transaction/sqlite|@ambit/transaction/mariadb|@ambit/drivers|better-sqlite3|node:sqlite|pg)';
/** All of Node's own modules. */
const NODE = 'node:[^/]+';

/** What an HTTP host is built on. */
const CORE = ['container', 'transaction', 'http'];
const HOSTS = ['express', 'fastify', 'fetch', 'hono', 'nest'];

/**
 * The tools of tests, `@ambit/test-kit`, are declared by those whose tests use them.
 * @typedef {{ mayUse: string[], tests?: string[], knowsNo: string[] }} Rule `tests` may use these as well, and know everything
 * @type {Record<string, Rule>}
 */
const RULES = {
  container: { mayUse: [], knowsNo: [HTTP, SQL] },
  transaction: { mayUse: ['container'], tests: ['testing'], knowsNo: [HTTP] },
  orm: { mayUse: ['transaction'], tests: ['container'], knowsNo: [HTTP] },
  drivers: { mayUse: ['transaction'], tests: ['container'], knowsNo: [HTTP] },
  outbox: { mayUse: ['transaction'], tests: ['container'], knowsNo: [HTTP, SQL] },
  idempotency: { mayUse: ['container', 'transaction'], knowsNo: [HTTP, SQL] },
  http: { mayUse: ['container', 'transaction'], knowsNo: ['(express|fastify)', SQL] },
  express: { mayUse: CORE, knowsNo: ['fastify', SQL] },
  fastify: { mayUse: CORE, knowsNo: ['express', SQL] },
  fetch: { mayUse: CORE, knowsNo: [HTTP, SQL, NODE, '@ambit/http(/node)?$'] },
  hono: { mayUse: [...CORE, 'fetch'], knowsNo: ['(express|fastify)', SQL] },
  nest: { mayUse: CORE, knowsNo: ['(express|fastify)', SQL] },
  inspector: { mayUse: ['container', 'transaction'], tests: [...HOSTS, 'replay'], knowsNo: [SQL] },
  opentelemetry: { mayUse: [...CORE, 'fetch', 'hono'], tests: HOSTS, knowsNo: [HTTP, SQL] },
  replay: {
    mayUse: ['container', 'transaction'],
    tests: [...HOSTS, 'http', 'orm', 'drivers'],
    knowsNo: ['(express|fastify)', SQL],
  },
  // Reads programs; it imports nothing that it reports on.
  doctor: { mayUse: [], knowsNo: [HTTP, SQL] },
  // Writes projects; the code of its template is theirs.
  'create-ambit': { mayUse: [], knowsNo: [HTTP, SQL] },
  // For authors of hosts and pools: it knows what all of them have in common.
  testing: { mayUse: CORE, knowsNo: ['(express|fastify)'] },
};

const packages = readdirSync('packages').filter((name) => existsSync(`packages/${name}/package.json`));
const unknown = packages.filter((name) => !(name in RULES));
if (unknown.length > 0) throw new Error(`oxlint.layering.mjs has no rule for ${unknown.join(', ')}`);

/** @typedef {{ regex?: string, group?: string[], message: string }} Pattern */

/** @param {string[]} files @param {Pattern[]} patterns */
const refuse = (files, patterns) => ({ files, rules: { 'no-restricted-imports': ['error', { patterns }] } });

/** @param {string[]} others @returns {Pattern} */
const upward = (others) => ({
  regex: `^@ambit/(${others.join('|')})(/|$)`,
  message: 'It points upward: see oxlint.layering.mjs.',
});

/** @type {Pattern} */
const LEAVES = {
  regex: '^(\\.\\./)+((packages|service|examples|bench)/|[^./][^/]*/(src|test|dist)/)',
  message: 'It leaves its package: import the other one by its name.',
};

/** @param {string} folder @param {string[]} groups of its package.json @returns {string[]} */
function declared(folder, groups) {
  const manifest = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const names = groups.flatMap((group) => Object.keys(manifest[group] ?? {}));
  return [manifest.name, ...names, ...names.map((name) => name.replace('@types/', ''))];
}

const RUNTIME = ['dependencies', 'peerDependencies'];

/** @param {string} folder @param {{ inTests?: boolean, within?: string }} options `within` is the package around it @returns {Pattern} */
const undeclared = (folder, { inTests = false, within = '.' } = {}) => {
  const all = [...RUNTIME, 'devDependencies'];
  // Tests of all packages may use older versions of Express, which the step `hosts` installs.
  const around = [within, '.', 'test/versions/express'];
  const names = inTests
    ? [...declared(folder, all), ...around.flatMap((each) => declared(each, all))]
    : declared(folder, RUNTIME);
  const allowed = [
    '.*',
    '#*',
    'node:*',
    ...names,
    ...names.filter((name) => name.startsWith('@')).map((name) => name.split('/')[0]),
  ];
  return {
    group: ['**', ...allowed.flatMap((name) => [`!${name}`, ...(/^@[^/]+$/.test(name ?? '') ? [] : [`!${name}/**`])])],
    message: 'Its package.json does not declare it.',
  };
};

export default {
  categories: { correctness: 'off' },
  options: { denyWarnings: true },
  ignorePatterns: ['**/dist/**', 'packages/create-ambit/template/**'],
  overrides: [
    ...Object.entries(RULES).flatMap(([name, { mayUse, tests = [], knowsNo }]) => {
      const folder = `packages/${name}`;
      /** @param {string[]} mine */
      const others = (mine) => upward(Object.keys(RULES).filter((each) => ![name, ...mine].includes(each)));
      const unheard = knowsNo.map((regex) => ({
        regex: `^${regex}(/|$)`,
        message: 'The package must know nothing of it.',
      }));
      return [
        refuse([`${folder}/**`], [others(mayUse), ...unheard, LEAVES, undeclared(folder)]),
        // The page is bundled, so its packages are development dependencies.
        refuse([`${folder}/page/**`], [others(mayUse), ...unheard, LEAVES, undeclared(folder, { inTests: true })]),
        refuse(
          [`${folder}/*`, `${folder}/**/test/**`],
          [others([...mayUse, ...tests]), LEAVES, undeclared(folder, { inTests: true })],
        ),
      ];
    }),
    // The transaction check looks for clients of HTTP.
    refuse(
      ['packages/transaction/src/check/**'],
      [upward(Object.keys(RULES).filter((name) => !['transaction', 'container'].includes(name))), LEAVES],
    ),
    refuse(['service/**'], [LEAVES, undeclared('service')]),
    refuse(['service/*', 'service/test/**'], [LEAVES, undeclared('service', { inTests: true })]),
    refuse(['test/kit/src/**'], [undeclared('test')]),
    refuse(['test/{hosts,simulation}/**'], [undeclared('test', { inTests: true })]),
    ...['examples', 'bench'].map((folder) => refuse([`${folder}/**`], [undeclared(folder, { inTests: true })])),
    refuse(['examples/recipes/**'], [undeclared('examples/recipes', { inTests: true, within: 'examples' })]),
  ],
};
