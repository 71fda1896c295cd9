// How many of our own files one request runs through: everything a reader has to open to follow it.
//   node scripts/files-per-request.mjs             prints the number of files for each package, fails above a limit
//   node scripts/files-per-request.mjs --verbose   prints the files and the functions that ran, too
//   node scripts/files-per-request.mjs --write     writes the files of a POST, in the order of their first calls, into docs/service/how-a-post-travels.md
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createDatabase } from '../service/chaos/support/database.mjs';
import { isListening } from '../service/chaos/support/program.mjs';
import { ServiceProcess } from './files-per-request/service-process.mjs';

/**
 * A service that has just started still counts how often each key is resolved. After some thousands of requests the
 * container has compiled its functions for the keys in use, and each later request runs through the same files.
 */
const WARM_UP = 6000;
/** A timer may run during one request. What belongs to the request runs in each. */
const ROUNDS = 7;

/** @typedef {import('./files-per-request/service-process.mjs').Request} Request */
/** @typedef {Map<string, import('./files-per-request/service-process.mjs').Called[]>} Files the functions that ran in each */
/** @typedef {{ request: Request, service: number, most: Readonly<Record<string, number>> }} Limit */

/**
 * The aim was 17 files for the GET and 28 for the POST. Each limit is what was reached, so that the check fails when the number
 * grows. Lower the limit with the number.
 * @type {Limit[]}
 */
const LIMITS = [
  {
    request: { method: 'GET', path: '/api/users' },
    service: 5,
    most: { 'fastify, SQLite': 17, 'express, SQLite': 17, 'fastify, PostgreSQL': 17, 'express, PostgreSQL': 17 },
  },
  {
    request: { method: 'POST', path: '/api/orders', body: { items: [{ productId: 'apple', quantity: 1 }] } },
    service: 5,
    most: { 'fastify, SQLite': 27, 'express, SQLite': 28, 'fastify, PostgreSQL': 26, 'express, PostgreSQL': 28 },
  },
];

const { values: flags } = parseArgs({ options: { verbose: { type: 'boolean' }, write: { type: 'boolean' } } });
let broken = 0;

const PAGE = 'docs/service/how-a-post-travels.md';
/** Where nothing but the service itself is needed, the page can be written everywhere. */
const OF_PAGE = 'express, SQLite';

/**
 * What becomes of the response and of its transaction, in order of time: the function that does it, and on Fastify another one where
 * that differs. Nothing counts these, so each run looks whether the functions still exist.
 * @typedef {readonly [file: string, name: string]} At a function, or a method as `Class.method`
 * @type {readonly { role: string, does: string, at: At, onFastify?: At }[]}
 */
const ROLES = [
  {
    role: 'Held',
    does: 'the response waits until its transaction has completed',
    at: ['packages/http/src/response-gate.ts', 'ResponseGate.receive'],
    onFastify: ['packages/fastify/src/reply.ts', 'goOnAfter'],
  },
  {
    role: 'Decided',
    does: 'its status and what failed before say whether to commit',
    at: ['packages/http/src/held-response.ts', 'HeldResponse.decide'],
    onFastify: ['packages/fastify/src/plugins.ts', 'commitFirst'],
  },
  {
    role: 'Sent',
    does: 'COMMIT or ROLLBACK goes to the database, once',
    at: ['packages/transaction/src/transaction/completion.ts', 'Completion.#send'],
  },
  {
    role: 'Returned',
    does: 'the connection goes back to its pool',
    at: ['packages/transaction/src/transaction/transaction.ts', 'Transaction.#returnConnection'],
  },
  {
    role: 'Released',
    does: 'the response goes to the client, or an error in its place',
    at: ['packages/http/src/response-gate.ts', 'ResponseGate.#release'],
    onFastify: ['packages/fastify/src/plugins.ts', 'settle'],
  },
];

const NAMES = { sqlite: 'SQLite', postgres: 'PostgreSQL', mariadb: 'MariaDB' };
const POSTGRES = new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test');

checkRoles();
for (const kind of await kinds()) {
  const database = await createDatabase(kind);
  try {
    for (const host of ['fastify', 'express'])
      if (!flags.write || `${host}, ${NAMES[kind]}` === OF_PAGE) await measure(host, database);
  } finally {
    await database.drop();
  }
}
process.exitCode = broken > 0 ? 1 : 0;

/** The embedded database, and PostgreSQL where it runs or is required. @returns {Promise<('sqlite' | 'postgres')[]>} */
async function kinds() {
  if (await isListening(POSTGRES)) return ['sqlite', 'postgres'];
  if (process.env['AMBIT_REQUIRE_POSTGRES'] === '1') throw new Error(`No PostgreSQL listens at ${POSTGRES.host}`);
  console.log(`skipped: PostgreSQL, because none listens at ${POSTGRES.host}`);
  return ['sqlite'];
}

/**
 * @param {string} host
 * @param {import('../service/chaos/support/database.mjs').Database} database
 */
async function measure(host, database) {
  const service = new ServiceProcess({ HOST_VARIANT: host, ...database.env });
  try {
    await service.listening();
    const where = `${host}, ${NAMES[database.kind]}`;
    for (const limit of LIMITS) {
      if (flags.write && limit.request.method !== 'POST') continue;
      const files = await filesOfOne(service, limit.request);
      report(where, limit, files);
      if (where !== OF_PAGE || limit.request.method !== 'POST') continue;
      if (flags.write) writeFileSync(PAGE, pageOf(files, await service.orderOf(limit.request)));
      comparePage(files);
    }
  } finally {
    await service.stop();
  }
}

/**
 * @param {ServiceProcess} service
 * @param {Request} request
 */
async function filesOfOne(service, request) {
  await service.warmUp(request, WARM_UP);
  const files = await service.ran(request);
  for (let round = 1; round < ROUNDS; round += 1) {
    const again = await service.ran(request);
    for (const file of files.keys()) if (!again.has(file)) files.delete(file);
  }
  return files;
}

/**
 * @param {string} where
 * @param {Limit} limit
 * @param {Files} files
 */
function report(where, { request: { method, path }, service, most }, files) {
  const mostOfAll = most[where] ?? 0;
  /** @type {Record<string, number>} */
  const counts = {};
  for (const file of files.keys()) {
    const [, name = file] = /([^/]+)\/dist\//.exec(file) ?? [];
    counts[name] = (counts[name] ?? 0) + 1;
  }
  const ofService = counts['service'] ?? 0;
  const exceeds = files.size > mostOfAll || ofService > service;
  if (exceeds) broken += 1;
  const limits = `at most ${mostOfAll}, of the service at most ${service}`;
  console.log(`${exceeds ? 'FAIL' : 'pass'}  ${method} ${path} on ${where}: ${files.size} files (${limits})`);
  const perPackage = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  const functions = [...files.values()].flat();
  const calls = functions.reduce((sum, called) => sum + called.calls, 0);
  console.log(`        ${perPackage.join(', ')}; ${functions.length} functions, ${calls} calls`);
  if (!flags.verbose) return;
  for (const file of [...files.keys()].toSorted())
    console.log(
      `        ${file}: ${files
        .get(file)
        ?.map(({ name }) => name)
        .join(', ')}`,
    );
}

/** @param {Files} files */
function comparePage(files) {
  const written = Array.from(readFileSync(PAGE, 'utf8').matchAll(/^\d+\. `(.+?)`/gm), ([, source = '']) => source);
  const sources = Array.from(files.keys(), sourceOf);
  if (written.toSorted().join() === sources.toSorted().join()) return;
  broken += 1;
  console.log(`FAIL  ${PAGE} names other files: node scripts/files-per-request.mjs --write`);
}

/** Functions are renamed and moved, and the page must not send its readers to what does not exist. */
function checkRoles() {
  const named = ROLES.flatMap(({ at, onFastify }) => (onFastify ? [at, onFastify] : [at]));
  for (const [file, name] of named.filter((at) => !isDeclared(at))) {
    broken += 1;
    console.log(`FAIL  ${file} has no ${name}: correct ROLES in scripts/files-per-request.mjs, then --write`);
  }
  if (flags.write || readFileSync(PAGE, 'utf8').includes(rolesOfPage())) return;
  broken += 1;
  console.log(`FAIL  ${PAGE} has other roles: node scripts/files-per-request.mjs --write`);
}

/** @param {At} at */
function isDeclared([file, name]) {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const [owner, method] = name.split('.');
  if (method === undefined) return new RegExp(`^(?:export )?(?:async )?function ${owner}\\b`, 'm').test(text);
  const start = text.search(new RegExp(`^(?:export )?class ${owner}\\b`, 'm'));
  const body = start < 0 ? '' : text.slice(start, text.indexOf('\n}\n', start));
  return new RegExp(`^  (?:(?:async|get|override|static) )*${method}[<(]`, 'm').test(body);
}

/** A line for each role. */
function rolesOfPage() {
  /** @param {At} at */
  const text = ([file, name]) => `\`${file}\`: \`${name}\``;
  const lines = ROLES.map(({ role, does, at, onFastify }) => {
    const difference = onFastify ? `; on Fastify ${text(onFastify)}` : '';
    return `- **${role}**: ${does}. ${text(at)}${difference}\n`;
  });
  return lines.join('');
}

/**
 * @param {Files} files
 * @param {Map<string, { name: string }[]>} order of the first calls; a timer may have run, too
 */
function pageOf(files, order) {
  const called = [...order].filter(([file]) => files.has(file));
  const rest = [...files].filter(([file]) => !order.has(file));
  const rows = [...called, ...rest].map(([file, calls], index) => {
    const named = calls.flatMap(({ name }) => (/^(?:[gs]et )?#?\w+$/.test(name) ? [`\`${name}\``] : []));
    return `${index + 1}. \`${sourceOf(file)}\`${named.length > 0 ? `: ${named.join(', ')}` : ''}\n`;
  });
  return `# How a POST travels

What becomes of the response and of its transaction:

${rolesOfPage()}
The files that one \`POST /api/orders\` of the service runs through, on Express and SQLite, when everything is warm: in the order of
their first calls, each with its functions in this order. \`npm run check -- files-per-request\` fails when the files are others;
\`npm run build && node scripts/files-per-request.mjs --write\` writes this page, and nothing else does.

${rows.join('')}`;
}

/** @param {string} file of what was built */
function sourceOf(file) {
  return file.replace('/dist/', '/src/').replace(/js$/, 'ts');
}
