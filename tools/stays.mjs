// How a warm request travels through our own files, as a reader would follow it:
//   npm run build && node tools/stays.mjs              one row for each host and database
//   node tools/stays.mjs --sequence express sqlite     and behind its rows, the calls one after another
// A stay is a row of calls in one file; a return is a stay in a file that was left before.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Session } from 'node:inspector/promises';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { createDatabase } from '../lab/kit/databases.mjs';
import { isListening } from '../lab/kit/program.mjs';

const ROOT = new URL('..', import.meta.url).href;
/** The container compiles its functions for keys that are resolved often. */
const WARM_UP = 6000;
const REQUESTS = [
  { method: 'GET', path: '/api/users' },
  { method: 'POST', path: '/api/orders', body: { items: [{ productId: 'apple', quantity: 1 }] } },
];
const URLS = {
  postgres: process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test',
  mariadb: process.env['MARIADB_URL'] ?? 'mariadb://root@127.0.0.1:3306/test',
};

if (process.send) await serve();
else await print();

async function print() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { sequence: { type: 'boolean' } } });
  const isChosen = (/** @type {string} */ name, /** @type {string[]} */ all) =>
    positionals.includes(name) || !all.some((each) => positionals.includes(each));
  const [hosts, databases] = [
    ['express', 'fastify'],
    ['sqlite', 'postgres', 'mariadb'],
  ];
  console.log(
    '| host | database | request | calls | stays | returns | files |\n| --- | --- | --- | --: | --: | --: | --: |',
  );
  for (const kind of /** @type {('sqlite' | 'postgres' | 'mariadb')[]} */ (
    databases.filter((name) => isChosen(name, databases))
  )) {
    if (kind !== 'sqlite' && !(await isListening(new URL(URLS[kind])))) {
      console.log(`| | ${kind} | none listens at ${new URL(URLS[kind]).host} | | | | |`);
      continue;
    }
    const database = await createDatabase(kind);
    for (const host of hosts.filter((name) => isChosen(name, hosts))) await measure(host, database, values.sequence);
    await database.drop();
  }
}

/**
 * @param {string} host
 * @param {import('../lab/kit/databases.mjs').Database} database
 * @param {boolean | undefined} withSequence
 */
async function measure(host, database, withSequence) {
  const { DATABASE_URL: _url, DATA_DIR: _folder, ...rest } = process.env;
  const env = { ...rest, NODE_ENV: 'production', PORT: '0', LOG_LEVEL: 'info', HOST_VARIANT: host, ...database.env };
  const service = fork(import.meta.filename, { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  if (!service.stdout) throw new Error('The log of the service is not piped');
  const log = createInterface({ input: service.stdout })[Symbol.asyncIterator]();
  /** @param {string} message */
  const logged = async (message) => {
    for (let line = await log.next(); !line.done; line = await log.next()) {
      const record = JSON.parse(line.value);
      if (record.msg === message) return record;
    }
    throw new Error(`The service stopped before it logged "${message}"`);
  };
  const { url } = await logged('listening');
  for (const { method, path, body } of REQUESTS) {
    // The scope is disposed when the request is logged.
    const send = async () => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url + path, { method, ...(body && { headers, body: JSON.stringify(body) }) });
      if (!response.ok) throw new Error(`${method} ${path}: status ${response.status}: ${await response.text()}`);
      await response.arrayBuffer();
      await logged('request');
    };
    for (let sent = 0; sent < WARM_UP; sent += 1) await send();
    service.send('watch');
    await once(service, 'message');
    await send();
    service.send('take');
    const [calls] = await once(service, 'message');
    report([host, database.kind, `${method} ${path}`], calls, withSequence);
  }
  service.kill('SIGTERM');
  await once(service, 'exit');
}

/**
 * @param {string[]} where
 * @param {{ file: string, name: string }[]} calls
 * @param {boolean | undefined} withSequence
 */
function report(where, calls, withSequence) {
  const stays = calls.filter(({ file }, index) => file !== calls[index - 1]?.file);
  const files = new Set(calls.map(({ file }) => file)).size;
  console.log(`| ${[...where, calls.length, stays.length, stays.length - files, files].join(' | ')} |`);
  if (!withSequence) return;
  for (const [index, { file, name }] of calls.entries())
    console.log(file === calls[index - 1]?.file ? `    ${name}` : `  ${file}\n    ${name}`);
}

/** The service, started as always, which tells the process that forked it which of its functions are called. */
async function serve() {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  /** @type {{ file: string, name: string }[]} */
  const calls = [];
  Reflect.set(
    globalThis,
    'noteCall',
    (/** @type {string} */ file, /** @type {string} */ name) => void calls.push({ file, name }),
  );
  /** @param {unknown} message */
  const respond = async (message) => {
    await (message === 'watch' ? watch(session) : session.post('Debugger.disable'));
    process.send?.(calls.splice(0));
  };
  process.on('message', (message) => void respond(message));
  await import('../service/dist/main.js');
}

/** A breakpoint in each own function that has run, which notes the call and does not stop. @param {Session} session */
async function watch(session) {
  await session.post('Debugger.enable');
  const { result } = await session.post('Profiler.takePreciseCoverage');
  for (const { url, scriptId, functions } of result) {
    const [, file] = /^(?:packages\/[^/]+|service)\/dist\/.*/.test(url.replace(ROOT, ''))
      ? [url, url.replace(ROOT, '').replace('/dist/', '/src/').replace(/js$/, 'ts')]
      : [];
    if (!file) continue;
    const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
    const at = (/** @type {number} */ offset) => {
      const lines = scriptSource.slice(0, offset).split('\n');
      return { scriptId, lineNumber: lines.length - 1, columnNumber: lines.at(-1)?.length ?? 0 };
    };
    for (const { functionName, ranges } of functions) {
      const [range] = ranges;
      // V8 calls super() twice where a breakpoint is on it.
      if (!range || range.count === 0 || scriptSource.slice(range.startOffset, range.endOffset).includes('super('))
        continue;
      const places = { start: at(range.startOffset), end: at(range.endOffset), restrictToFunction: true };
      const { locations } = await session.post('Debugger.getPossibleBreakpoints', places);
      const condition = `noteCall(${JSON.stringify(file)}, ${JSON.stringify(functionName || '(anonymous)')}), false`;
      if (locations[0]) await session.post('Debugger.setBreakpoint', { location: locations[0], condition });
    }
  }
}
