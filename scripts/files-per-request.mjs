// How many of our own files one request runs through: everything a reader has to open to follow it.
//   node scripts/files-per-request.mjs             prints the number of files for each package, fails above a limit
//   node scripts/files-per-request.mjs --verbose   prints the files, too
import { parseArgs } from 'node:util';
import { openDatabases } from './files-per-request/databases.mjs';
import { ServiceProcess } from './files-per-request/service-process.mjs';

const WARM_UP = 200;
/** A timer may run during one request. What belongs to the request runs in each. */
const ROUNDS = 7;

/** @typedef {import('./files-per-request/service-process.mjs').Request} Request */
/** @typedef {{ request: Request, most: { all: number, service: number } }} Limit */

/** @type {Limit[]} */
const LIMITS = [
  { request: { method: 'GET', path: '/api/users' }, most: { all: 22, service: 8 } },
  {
    request: { method: 'POST', path: '/api/orders', body: { items: [{ productId: 'apple', quantity: 1 }] } },
    most: { all: 38, service: 14 },
  },
];

const { values: flags } = parseArgs({ options: { verbose: { type: 'boolean' } } });
let broken = 0;

for (const database of await openDatabases()) {
  try {
    for (const host of ['fastify', 'express']) await measure(host, database);
  } finally {
    await database.drop();
  }
}
process.exitCode = broken > 0 ? 1 : 0;

/**
 * @param {string} host
 * @param {import('./files-per-request/databases.mjs').Database} database
 */
async function measure(host, database) {
  const service = new ServiceProcess({ HOST_VARIANT: host, ...database.env });
  try {
    await service.listening();
    for (const limit of LIMITS) report(`${host}, ${database.name}`, limit, await filesOfOne(service, limit.request));
  } finally {
    await service.stop();
  }
}

/**
 * @param {ServiceProcess} service
 * @param {Request} request
 */
async function filesOfOne(service, request) {
  for (let sent = 0; sent < WARM_UP; sent += 1) await service.send(request);
  let files = await service.filesOf(request);
  for (let round = 1; round < ROUNDS; round += 1) {
    const again = await service.filesOf(request);
    files = files.filter((file) => again.includes(file));
  }
  return files.toSorted();
}

/**
 * @param {string} where
 * @param {Limit} limit
 * @param {string[]} files
 */
function report(where, { request: { method, path }, most }, files) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const file of files) {
    const [, name = file] = /([^/]+)\/dist\//.exec(file) ?? [];
    counts[name] = (counts[name] ?? 0) + 1;
  }
  const ofService = counts['service'] ?? 0;
  const exceeds = files.length > most.all || ofService > most.service;
  if (exceeds) broken += 1;
  const limits = `at most ${most.all}, of the service at most ${most.service}`;
  console.log(`${exceeds ? 'FAIL' : 'pass'}  ${method} ${path} on ${where}: ${files.length} files (${limits})`);
  const perPackage = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  console.log(`        ${perPackage.join(', ')}`);
  if (flags.verbose) for (const file of files) console.log(`        ${file}`);
}
