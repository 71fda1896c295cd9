// Installs the packed packages beside each version of a library in the table of docs/guides/versions.md, and runs a transaction there.
//   node tools/beside.mjs            all rows
//   node tools/beside.mjs kysely pg  those of these libraries
// Fails where the table says something else than what happened: also where npm refuses, or warns of one of our packages.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { nodeBinary } from './on-node.mjs';
import { MANAGERS, packInto } from './packed.mjs';

const PG = 'pg@8';
const SQLITE = '@photostructure/sqlite@1';
const ORM = ['@ambit/orm', '@ambit/transaction', '@ambit/container'];
const DRIVERS = ['@ambit/drivers', '@ambit/transaction', '@ambit/container'];
const HOST = ['@ambit/inspector', '@ambit/http', '@ambit/transaction', '@ambit/container'];

/** @type {Record<string, readonly string[]>} Our packages, and others with their versions; `$` is the version of the row. */
const NEEDS = {
  'better-sqlite3': DRIVERS,
  'drizzle-orm': [...ORM, PG, SQLITE],
  express: ['@ambit/express', ...HOST, SQLITE],
  fastify: ['@ambit/fastify', ...HOST, SQLITE],
  hono: ['@ambit/hono', '@ambit/fetch', ...HOST, SQLITE],
  knex: [...ORM, PG, SQLITE],
  kysely: [...ORM, PG, SQLITE],
  '@mikro-orm/postgresql': [...ORM, PG, '@mikro-orm/core@$'],
  mysql2: DRIVERS,
  pg: [...DRIVERS, '@ambit/orm'],
  postgres: DRIVERS,
  '@prisma/adapter-pg': [...ORM, PG],
  typeorm: [...ORM, PG],
};

/** @type {Record<string, readonly string[]>} What one version needs, besides. */
const VERSION_NEEDS = {
  'hono 4': ['@hono/node-server@1'],
  'hono 3': ['@hono/node-server@1.0.0'],
  'hono 2': ['@hono/node-server@0'],
  '@mikro-orm/postgresql 7': ['@mikro-orm/sql@7', 'kysely@0.29'],
  '@mikro-orm/postgresql 6.6.16': ['kysely@0.27'],
  '@mikro-orm/postgresql 5': ['kysely@0.28'],
};
const ON_NODE_24 = ['better-sqlite3 13', 'kysely 0.29', '@mikro-orm/postgresql 7'];
/** Their binaries are compiled, with the headers that came with Node. */
const COMPILED = ['better-sqlite3 12', 'better-sqlite3 11'];
const AT_ONCE = 2;

const page = readFileSync(resolve(import.meta.dirname, '../docs/guides/versions.md'), 'utf8');
const wanted = process.argv.slice(2);
const rows = [...page.matchAll(/^\| `(?<library>.+?)` +\| (?<version>\S+) +\| (?<runs>.+?) +\|$/gm)]
  .map(({ groups }) => /** @type {Row} */ (groups))
  .filter(({ library, runs }) => (wanted.length === 0 || wanted.includes(library)) && !runs.startsWith('not run'));
if (rows.length === 0) throw new Error(`docs/guides/versions.md has no row of ${wanted.join(' ') || 'a library'}`);
const scratch = mkdtempSync(join(tmpdir(), 'ambit-beside-'));
try {
  const tarballs = packInto(scratch);
  const tryOutNext = async () => {
    for (let row = rows.shift(); row; row = rows.shift()) await tryOut(row, tarballs);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, tryOutNext));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** @typedef {{ library: string, version: string, runs: string }} Row `runs` is "yes", or "no" with the error at first use */

/** @param {Row} row @param {import('./packed.mjs').Tarballs} tarballs */
async function tryOut({ library, version, runs }, tarballs) {
  const name = `${library} ${version}`;
  const said = await failureOf(library, version, tarballs);
  const expected = /^no: `(.+)`$/.exec(runs)?.[1];
  const fits = expected === undefined ? said === undefined && runs === 'yes' : said?.includes(expected);
  console.log(`${fits ? 'as the table says' : 'NOT AS THE TABLE SAYS'}: ${name}: ${runs}`);
  if (fits) return;
  console.error(
    `docs/guides/versions.md: ${name}: "${runs}", but it ${said === undefined ? 'runs' : `failed:\n${said}`}`,
  );
  process.exitCode = 1;
}

/**
 * @param {string} library
 * @param {string} version
 * @param {import('./packed.mjs').Tarballs} tarballs
 * @returns {Promise<string | undefined>} nothing where all went well, or else the output
 */
async function failureOf(library, version, tarballs) {
  const name = `${library} ${version}`;
  const needs = [`${library}@$`, ...(NEEDS[library] ?? []), ...(VERSION_NEEDS[name] ?? [])];
  const others = needs.filter((need) => !need.startsWith('@ambit/'));
  const dependencies = Object.fromEntries(
    others.map((need) => [need.slice(0, need.lastIndexOf('@')), need.split('@').at(-1)?.replace('$', version)]),
  );
  const app = mkdtempSync(join(scratch, 'app-'));
  writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  cpSync(resolve(import.meta.dirname, 'beside/programs.mjs'), join(app, 'programs.mjs'));
  const ours = Object.fromEntries(Object.entries(tarballs).filter(([one]) => needs.includes(one)));
  try {
    const output = (await MANAGERS['npm']?.install(app, ours)) ?? '';
    if (/^npm warn (ERESOLVE|.*@ambit\/)/m.test(output)) return output;
  } catch (error) {
    return String(error);
  }
  const node = ON_NODE_24.includes(name) ? nodeBinary('24') : process.execPath;
  const env = {
    ...process.env,
    npm_config_nodedir: resolve(dirname(node), '..'),
    npm_config_build_from_source: 'true',
  };
  const uncompiled = COMPILED.includes(name) ? await start('npm', ['rebuild', library], app, env) : undefined;
  return uncompiled ?? start(node, ['programs.mjs', library], app);
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<string | undefined>} the output, where it failed
 */
function start(command, args, cwd, env = process.env) {
  return new Promise((done) => {
    execFile(command, args, { cwd, env, timeout: 600_000, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      done(error ? `${stdout}${stderr}` || error.message : undefined),
    );
  });
}
