// Creates a project with the packed `create-ambit` for each combination that it offers, and does with it what its README.md says:
//   node tools/create.mjs                       four of them, in which each host, database and query builder is
//   node tools/create.mjs --all                 all of them
//   node tools/create.mjs hono-postgres-knex    these only
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { openPostgresDatabase } from '@ambit/test-kit';
import { DATABASES, HOSTS, projectFiles, QUERY_BUILDERS } from 'create-ambit';
import { freePort, start, stop } from '../lab/kit/program.mjs';
import { installed, programBinary } from './on-node.mjs';
import { fencesIn } from './documents.mjs';
import { openRegistry, packInto } from './packed.mjs';

/** These are created and installed as users do. */
const ALONE = ['express-sqlite-none', 'fastify-postgres-drizzle', 'hono-postgres-kysely', 'fastify-sqlite-knex'];
const AT_ONCE = 2;

const combinations = new Map(
  HOSTS.flatMap((host) =>
    DATABASES.flatMap((database) =>
      QUERY_BUILDERS.map((queryBuilder) => [`${host}-${database}-${queryBuilder}`, { host, database, queryBuilder }]),
    ),
  ),
);
const { values, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean' } },
});
const unknown = asked.filter((name) => !combinations.has(name));
if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: there are ${[...combinations.keys()].join(', ')}`);
const names = asked.length > 0 ? asked : values.all ? [...combinations.keys()] : ALONE;

const scratch = mkdtempSync(join(tmpdir(), 'ambit-create-'));
const alone = join(scratch, 'alone');
/** Its node_modules serves all projects below it. */
const together = join(scratch, 'together');
const createAmbit = join(together, 'node_modules/.bin/create-ambit');
const knip = programBinary('knip');
const registry = await openRegistry(packInto(scratch));

try {
  await createAll();
  const left = [...names];
  const tryOutNext = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await tryOut(name);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, tryOutNext));
  await runDialog();
  console.log(`${names.length} projects compile, pass their tests, respond and stop`);
} finally {
  registry.close();
  rmSync(scratch, { recursive: true, force: true });
}

async function createAll() {
  for (const folder of [alone, together]) mkdirSync(folder);
  const manifests = Array.from(combinations, ([name, choices]) => ({ name, ...choices }))
    .filter(({ name }) => names.includes(name) && !ALONE.includes(name))
    .map((options) => JSON.parse(projectFiles(options)['package.json'] ?? ''));
  const needs = manifests.map(({ dependencies, devDependencies }) => ({ ...dependencies, ...devDependencies }));
  const dependencies = Object.assign({ 'create-ambit': 'latest' }, ...needs);
  writeFileSync(join(together, 'package.json'), JSON.stringify({ private: true, dependencies }));
  await run(together, 'npm', ['install']);
  for (const name of names) {
    const { host = '', database = '', queryBuilder = '' } = combinations.get(name) ?? {};
    const flags = ['--host', host, '--database', database, '--query-builder', queryBuilder];
    // With a cache of its own, `npm create` runs no version of an earlier check.
    const cache = { npm_config_cache: join(scratch, 'cache') };
    if (ALONE.includes(name)) await run(alone, 'npm', ['create', '--yes', 'ambit@latest', name, '--', ...flags], cache);
    else await run(together, createAmbit, [name, ...flags]);
  }
}

/** @param {string} name */
function folderOf(name) {
  return join(ALONE.includes(name) ? alone : together, name);
}

/** @param {string} name */
async function tryOut(name) {
  const folder = folderOf(name);
  const postgres = combinations.get(name)?.database === 'postgres' ? await openPostgresDatabase() : undefined;
  const database = postgres ? { DATABASE_URL: postgres.url } : { DATABASE_FILE: join(folder, 'shop.db') };
  try {
    if (ALONE.includes(name)) await run(folder, 'npm', ['install']);
    // No file, export or dependency is unused, and no dependency is missing.
    await run(folder, knip, ['--no-progress']);
    await run(folder, 'npm', ['run', 'lint']);
    await checkDelivery(folder);
    await run(folder, 'npm', ['run', 'build']);
    if (name.endsWith('drizzle')) {
      const found = await run(folder, 'npm', ['run', 'migration']);
      expect(name, `whether the migration is up to date, in ${found}`, found.includes('No schema changes'), true);
    }
    // As when two instances of a new version start.
    await Promise.all([1, 2].map(() => run(folder, 'npm', ['run', 'migrate'], database)));
    await run(folder, 'npm', ['test'], database);
    await startBuilt(name, database);
    if (ALONE.includes(name)) await startForDevelopment(name, database);
    console.log(`${name} works`);
  } catch (error) {
    throw new Error(`${name} fails`, { cause: error });
  } finally {
    await postgres?.drop();
  }
}

/** Programs that know their languages check the files that Docker and GitHub read. @param {string} folder */
async function checkDelivery(folder) {
  await run(folder, installed('dockerfile-utils', '0.16.3', '.bin/dockerfile-utils'), ['lint', 'Dockerfile']);
  const validator = installed('@action-validator/cli', '0.6.0', '.bin/action-validator', [
    '@action-validator/core@0.6.0',
  ]);
  await run(folder, validator, ['.github/workflows/ci.yml']);
}

/** @param {string} name @param {NodeJS.ProcessEnv} database */
async function startBuilt(name, database) {
  const port = await freePort();
  const program = join(folderOf(name), 'dist/server.js');
  const server = await start(process.execPath, [program], /Listening/, { ...database, PORT: String(port) });
  const url = `http://localhost:${port}/orders`;
  const post = async (/** @type {string} */ body) => {
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return `${response.status} ${await response.text()}`;
  };
  const hears = await fetch(url.replace('localhost', '127.0.0.2')).then(
    () => true,
    () => false,
  );
  expect(name, 'whether it listens on an address besides 127.0.0.1', hears, false);
  expect(name, 'the orders that its tests left', await (await fetch(url)).text(), '[]');
  const placed = await post('{"product":"apple","quantity":2}');
  expect(name, 'an order', placed.replace(/"id":\d+/, '"id":1'), '201 {"id":1,"product":"apple","quantity":2}');
  const refused = await post('{"product":"apple","quantity":9}');
  const isRefused = refused.startsWith('409') && refused.includes('There is not enough apple in stock');
  expect(name, `the refusal of an order beyond the stock, in ${refused}`, isRefused, true);
  for (const body of ['{"product":"apple"}', '{"product":"","quantity":1}', '{', 'null'])
    expect(name, `the response to ${body}`, (await post(body)).slice(0, 3), '400');
  if (ALONE.includes(name)) {
    await sendAsReadmeSays(name, port);
    const taken = await failureOf(name, { ...database, PORT: String(port) });
    expect(name, `that its port is taken, in ${taken}`, taken.includes('EADDRINUSE'), true);
    const refusal = await failureOf(name, { ...database, PORT: 'none' });
    expect(
      name,
      `what it needs, in ${refusal}`,
      refusal.includes("PORT must be the number of a port, not 'none'"),
      true,
    );
  }
  const orders = /** @type {{ quantity: number }[]} */ (await (await fetch(url)).json());
  expect(name, 'what is stored', orders.at(-1)?.quantity, 2);
  expect(name, 'how many orders are stored', orders.length, ALONE.includes(name) ? 2 : 1);
  // The other hosts cut it, too, and report it: the tests of `disposeOnSignal` have that.
  if (ALONE.includes(name) && name.startsWith('fastify')) await beginUpload(port);
  expect(name, 'the exit code after SIGTERM', await stop(server), 0);
  const [first = '', ...lines] = server
    .output()
    .trim()
    .split('\n')
    .toSorted((a, b) => Number(a.startsWith('{')) - Number(b.startsWith('{')));
  const listening = new RegExp(`^Listening on http://localhost:${port}, with .* \\(DATABASE_(?:FILE|URL)\\)$`);
  expect(name, 'what it prints first', first.replace(listening, ''), '');
  // All others are the log of the requests, with their ids.
  const ids = lines.map((line) => JSON.parse(line)).filter(({ id, reqId, msg }) => id ?? reqId ?? msg);
  expect(name, 'how many lines it has logged', ids.length, lines.length);
}

/** Sends the beginning of an order and no more, which must not keep the server from stopping. @param {number} port */
async function beginUpload(port) {
  const socket = connect(port, 'localhost').on('error', () => {}); // it is cut
  const head =
    'POST /orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n';
  await once(socket, 'connect');
  socket.write(`${head}{`);
  await fetch(`http://localhost:${port}/orders`); // until it responds, the server has read the upload, too
}

/** What it prints when it cannot start. @param {string} name @param {NodeJS.ProcessEnv} env */
function failureOf(name, env) {
  return run(folderOf(name), 'npm', ['start'], env).then(() => 'it starts', String);
}

/** The commands under "Start" that order an apple and list the orders. @param {string} name @param {number} port */
async function sendAsReadmeSays(name, port) {
  const readme = readFileSync(join(folderOf(name), 'README.md'), 'utf8');
  const lines = fencesIn(readme).flatMap(({ body }) => body.split('\n'));
  const [order = '', list = ''] = lines.filter((line) => line.startsWith('node -e'));
  const send = (/** @type {string} */ command) => run(scratch, 'sh', ['-c', command.replace('3000', String(port))]);
  const ordered = JSON.parse(await send(order));
  expect(name, 'the order of README.md', ordered.product, 'apple');
  expect(name, 'the list of README.md', JSON.stringify(JSON.parse(await send(list))[0]), JSON.stringify(ordered));
}

/** @param {string} name @param {NodeJS.ProcessEnv} database */
async function startForDevelopment(name, database) {
  const env = { ...process.env, ...database, PORT: String(await freePort()) };
  // A process group, as in a terminal, so that Ctrl+C reaches npm, tsx and the server.
  const npm = spawn('npm', ['run', 'dev'], {
    cwd: folderOf(name),
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(npm, 'exit');
  let output = '';
  for await (const text of npm.stdout) {
    output += text;
    if (output.includes('Listening')) break;
  }
  expect(name, 'npm run dev listens', output.includes('Listening'), true);
  if (npm.pid !== undefined) process.kill(-npm.pid, 'SIGINT');
  await exited;
}

/** Without flags, in a terminal, where one host is not offered, so it is asked for again. */
async function runDialog() {
  const terminal = spawn('script', ['--quiet', '--return', '--command', createAmbit, '/dev/null'], { cwd: scratch });
  const exited = once(terminal, 'exit');
  terminal.stdin.write(['asked', 'koa', 'fastify', '', 'kysely', ''].join('\n'));
  let shown = '';
  for await (const text of terminal.stdout.setEncoding('utf8')) shown += text;
  expect('the dialog', `its exit code after\n${shown}`, (await exited)[0], 0);
  expect('the dialog', 'the refusal of koa', shown.includes("'koa' is not offered"), true);
  const files = projectFiles({ name: 'asked', host: 'fastify', database: 'sqlite', queryBuilder: 'kysely' });
  for (const [path, text] of Object.entries(files))
    expect('the dialog', path, readFileSync(join(scratch, 'asked', path), 'utf8'), text);
}

/** @param {string} name @param {string} what @param {unknown} actual @param {unknown} expected */
function expect(name, what, actual, expected) {
  if (actual !== expected) throw new Error(`${name}: ${what} should be ${String(expected)}, and is ${String(actual)}`);
}

/** @param {string} cwd @param {string} command @param {string[]} args @param {NodeJS.ProcessEnv} [more] */
async function run(cwd, command, args, more) {
  const npm = { audit: 'false', fund: 'false', loglevel: 'error', prefer_offline: 'true', registry: registry.url };
  const options = Object.entries(npm).map(([name, value]) => [`npm_config_${name}`, value]);
  const env = { ...process.env, ...Object.fromEntries(options), ...more };
  try {
    return (await promisify(execFile)(command, args, { cwd, env, maxBuffer: 2 ** 26 })).stdout;
  } catch (error) {
    const { stdout, stderr } = /** @type {{ stdout: string, stderr: string }} */ (error);
    throw new Error(`${command} ${args.join(' ')} fails in ${cwd}:\n${stdout}${stderr}`, { cause: error });
  }
}
