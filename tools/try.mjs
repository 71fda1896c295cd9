// Does what a user of the packages does, as the documents say it:
//   node tools/try.mjs readme            the first two commands of README.md in a fresh clone, with an empty cache of npm: `npm test` is one of them
//   node tools/try.mjs quick-starts      each quick start in a new project beside a clone, and a project that the clone creates
//   node tools/try.mjs tutorial          docs/tutorial.md block by block
//   node tools/try.mjs npm pnpm yarn     installs the packed packages with these, compiles consumer.ts strictly, and runs it
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { freePort, until } from '../lab/kit/program.mjs';
import { examplesIn, fencesIn } from './documents.mjs';
import { cloneInto, copyInto, MANAGERS, packInto } from './packed.mjs';

const CONSUMER = {
  private: true,
  type: 'module',
  dependencies: {
    '@hono/node-server': '^2.1.8',
    '@photostructure/sqlite': '^1.2.1',
    express: '^5.3.0',
    fastify: '^5.12.8',
    hono: '^4.13.19',
  },
  devDependencies: { '@types/express': '^5.0.6', '@types/node': '^20.19.43' },
};
const STRICT = {
  target: 'ES2023',
  module: 'NodeNext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: false,
  experimentalDecorators: true,
  outDir: 'out',
};

/** How many packages a reader may find in node_modules. */
const MOST = 100;

/**
 * `install` is the heading of the commands where it is another one than that of the program; `named` is how many packages of this repository
 * the page names, `ours` how many npm installs. A program that listens is sent `request`, and must send the response that the page shows or `status`.
 * @typedef {{ page: string, heading?: string, install?: string, named: number, ours: number, request?: string[], status?: number, fails?: string[] }} QuickStart
 */

/** @type {QuickStart[]} */
const QUICK_STARTS = [
  {
    page: 'README.md',
    heading: 'Quick start: Express',
    install: 'Install',
    named: 3,
    ours: 4,
    fails: ['-d', 'color=red', 'http://localhost:3000/orders'],
  },
  {
    page: 'packages/express/README.md',
    named: 3,
    ours: 4,
    request: ['-H', 'content-type: application/json', '-d', '{"product":"apple"}', 'http://localhost:3000/api/orders'],
    status: 201,
  },
  { page: 'packages/fastify/README.md', named: 3, ours: 4 },
  { page: 'packages/hono/README.md', named: 3, ours: 5 },
  {
    page: 'packages/http/README.md',
    named: 3,
    ours: 3,
    request: ['-X', 'POST', 'http://localhost:3000/orders'],
    status: 201,
  },
  { page: 'packages/fetch/README.md', named: 3, ours: 4 },
];

const TUTORIAL = 'docs/tutorial.md';
/** The time of an order is another one each time. */
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
/** A command that runs the server, which does not exit. */
const SERVER = /\bnode (?:(--env-file=\S+) )?dist\/server\.js\n$/;

/** Variables that a shell has anyway; DATABASE_URL and others would configure the service. */
const OF_A_SHELL = /^(path|home|lang|tmpdir|https?_proxy|no_proxy|node_extra_ca_certs|npm_config_.*)$/i;
/** Installing with an empty cache takes minutes on a slow line. */
const START_MS = 15 * 60_000;
const ADDRESS = 'localhost:3000';

const scratch = mkdtempSync(join(tmpdir(), 'ambit-try-'));
const clone = join(scratch, 'ambit');
const port = await freePort();
const [what = '', ...more] = process.argv.slice(2);
/** Lets a program that listens on port 3000 listen on another one, because this machine may use it. */
const otherPort = join(scratch, 'other-port.mjs');
const tutorial = join(scratch, 'tutorial');
/** @type {import('node:child_process').ChildProcess | undefined} */
let stepServer;
/** True once `server.ts` listens; the first version of the page only prints something. */
let listens = false;
/** The folder of the next command: the clone, until the page changes to the project. */
let stepFolder = '.';
/** The output of the command before. */
let stepOutput = '';
/** Without the programs of this folder, which `npm run check` puts on the PATH. */
const PATH = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== resolve('node_modules/.bin'));
const envOfClone = { ...process.env, PATH: PATH.join(delimiter), npm_config_cache: join(scratch, 'cache') };

try {
  if (what === 'readme') await followReadme();
  else if (what === 'quick-starts') await followQuickStarts();
  else if (what === 'tutorial') await followTutorial();
  else await installWith([what, ...more]);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** @param {boolean} holds @param {string} problem */
function expect(holds, problem) {
  if (!holds) throw new Error(problem);
}

/** @param {string} script @param {string} cwd @param {import('node:child_process').StdioOptions} [stdio] */
function shell(script, cwd, stdio = ['ignore', 'pipe', 'inherit']) {
  const env = { ...process.env, npm_config_loglevel: 'error', npm_config_audit: 'false', npm_config_fund: 'false' };
  return execFileSync('bash', ['-ec', script], { cwd, stdio, env, encoding: 'utf8' });
}

/** While the first command runs, the service must respond to the call of the page as the page shows; the second command runs the tests. */
async function followReadme() {
  const [start = '', test = '', ask = '', shown = ''] = firstBlocks();
  copyInto(clone);
  // Some tests ask git which files there are.
  execFileSync('git', ['init', '--quiet'], { cwd: clone });
  execFileSync('git', ['add', '--all'], { cwd: clone });
  await startAndAsk(start, ask, shown);
  await runCommand(test);
}

/** The two commands, the call, and its response, each alone in its block. */
function firstBlocks() {
  const fences = fencesIn(readFileSync('README.md', 'utf8'))
    .filter(({ language }) => language !== 'ts')
    .slice(0, 4);
  const languages = fences.map(({ language }) => language).join();
  if (languages !== 'sh,sh,sh,json')
    throw new Error(`README.md begins with ${languages}, not with two commands, a call and its response`);
  return fences.map(({ body }) => body.trim());
}

/** @param {string} start @param {string} ask @param {string} shown */
async function startAndAsk(start, ask, shown) {
  // The port of the page, unless something on this machine has it.
  const address = (await isTaken(3000)) ? port : 3000;
  const given = Object.fromEntries(Object.entries(envOfClone).filter(([name]) => OF_A_SHELL.test(name)));
  const service = inClone(start, address === 3000 ? given : { ...given, PORT: String(address) });
  const exited = once(service, 'exit').then(([code]) => {
    throw new Error(`"${start}" exited with ${code} before the service responded`);
  });
  try {
    await Promise.race([exited, untilListening(address)]);
    const response = execFileSync(
      'bash',
      ['-c', `${ask} --silent --show-error`.replace(ADDRESS, `localhost:${address}`)],
      {
        encoding: 'utf8',
      },
    );
    if (response !== JSON.stringify(JSON.parse(shown)))
      throw new Error(
        `README.md shows that "${ask}" responds with\n${shown}\nbut the service responded with\n${response}`,
      );
    if (!existsSync(join(clone, 'data'))) throw new Error('README.md says that the service stores in the folder data');
    console.log(`README.md: "${start}" starts the service, and "${ask}" gets what the page shows`);
  } finally {
    await stopGroup(service, exited);
  }
}

/** @param {number} at */
async function untilListening(at) {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline; await pause(200)) if (await isTaken(at)) return;
  throw new Error(`README.md: the service did not listen on port ${at} within ${START_MS / 60_000} minutes`);
}

/** @param {number} at a port @returns {Promise<boolean>} */
async function isTaken(at) {
  const socket = connect(at, 'localhost');
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

/** Ctrl+C reaches every process of the terminal. @param {import('node:child_process').ChildProcess} service @param {Promise<never>} exited */
async function stopGroup({ pid, exitCode, signalCode }, exited) {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  process.kill(-pid, 'SIGINT');
  await exited.catch(() => {});
}

/** @param {string} command */
async function runCommand(command) {
  const [code] = await once(inClone(command, envOfClone), 'exit');
  if (code !== 0) throw new Error(`"${command}" exited with ${code}`);
  console.log(`README.md: "${command}" works`);
}

/** @param {string} command @param {NodeJS.ProcessEnv} given */
function inClone(command, given) {
  return spawn('bash', ['-c', command], {
    cwd: clone,
    env: given,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
}

/** Installs what each page installs, counts the packages, compiles and runs its program, and compares what that prints or responds with the page. */
async function followQuickStarts() {
  mkdirSync(clone);
  cloneInto(clone);
  writeFileSync(
    otherPort,
    `import { Server } from 'node:net';
const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, port === 3000 ? ${port} : port, ...rest);
};`,
  );
  for (const [index, quickStart] of QUICK_STARTS.entries()) await follow(quickStart, `project-${index}`);
  followCreate();
}

/** @param {QuickStart} quickStart @param {string} name of a folder for it, unless the page names one */
async function follow(quickStart, name) {
  const { page, heading, ours } = quickStart;
  const text = section(page, heading);
  const commands = firstBlock(section(page, quickStart.install ?? heading), 'sh');
  const [, folder = name] = /^cd \.\.\/(\S+)$/m.exec(commands) ?? [];
  const project = join(scratch, folder);
  // A page that follows a publication installs from the registry; until then the clone takes its place.
  const install = commands.replace(/^npm install (?=@ambit\/)/m, `npm run install-in ../${folder} `);
  const inProject = install === commands ? '' : `\ncd ../${folder}`;
  // `npm ci` would replace the dependencies that the clone shares with this folder.
  shell(install.replace('npm ci\n', '').replace(/^(npm run install-in .*)$/m, `$1${inProject}`), clone);
  const counted = count(project);
  const named = new Set(install.match(/(?<=\s)@ambit\/\w+/g)).size;
  const where = heading ? `${page}, "${heading}"` : page;
  expect(named === quickStart.named, `${where} names ${named} packages of ours, not ${quickStart.named}`);
  expect(counted.ours === ours, `${where} installs ${counted.ours} packages of ours, not ${ours}`);
  expect(counted.all <= MOST, `${where} installs ${counted.all} packages`);

  compile(project, firstBlock(text, 'ts'), !install.includes('tsc --init'));
  await tryOut(quickStart, text, project, where);
  console.log(
    `${where}: works, with ${named} packages of ours named, ${counted.ours} installed, and ${counted.all} in all`,
  );
}

/** A new project from the clone, as it is where nobody can be asked. */
function followCreate() {
  const page = 'packages/create-ambit/README.md';
  const fences = fencesIn(readFileSync(page, 'utf8')).map(({ body }) => body);
  const commands = fences.find((body) => body.startsWith('npm run create ')) ?? '';
  expect(commands !== '', `${page} does not say how to create a project from a clone`);
  shell(commands.replace(/^npm run create .*$/m, '$& "--" --yes'), clone);
  shell('npm test', join(scratch, 'my-shop'));
  console.log(`${page}: works from a clone`);
}

/** @param {string} project @param {string} program @param {boolean} isWithoutConfiguration where the page leaves the compiler's options to the reader */
function compile(project, program, isWithoutConfiguration) {
  if (isWithoutConfiguration) {
    const compilerOptions = { strict: true, module: 'nodenext', target: 'es2023', skipLibCheck: true, types: ['node'] };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  }
  writeFileSync(join(project, 'app.mts'), program);
  shell('npx tsc', project);
}

/** @param {QuickStart} quickStart @param {string} text @param {string} project @param {string} where */
async function tryOut({ request, status, fails }, text, project, where) {
  const [example] = examplesIn(text);
  if (example?.runs) {
    const printed = execFileSync(process.execPath, ['app.mjs'], { cwd: project, encoding: 'utf8' });
    expect(printed === example.prints, `${where} prints\n${printed}and not\n${example.prints}`);
    return;
  }
  const program = ['--import', pathToFileURL(otherPort).href, 'app.mjs'];
  const server = spawn(process.execPath, program, { cwd: project, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    const exited = once(server, 'exit').then(() => Promise.reject(new Error(`${where}: the program has exited`)));
    await Promise.race([exited, until(`${where}: the program`, () => responds())]);
    if (request) expect(curl(request).status === status, `${where}: the response has no status ${status}`);
    else {
      const call =
        fencesIn(text).find(({ language, body }) => language === 'sh' && body.startsWith('curl '))?.body ?? '';
      const shown = JSON.stringify(JSON.parse(firstBlock(text, 'json')));
      const response = shell(call.replace(':3000', `:${port}`), project, ['ignore', 'pipe', 'ignore']);
      expect(response === shown, `${where} shows\n${shown}\nbut "${call.trim()}" gets\n${response}`);
    }
    if (fails) expect(curl(fails).status >= 500, `${where}: curl ${fails.join(' ')} must fail`);
  } finally {
    server.kill();
  }
}

/** @returns {Promise<boolean>} whether the program listens */
async function responds() {
  return fetch(`http://localhost:${port}/`).then(
    () => true,
    () => false,
  );
}

/** @param {string[]} args */
function curl(args) {
  const real = args.map((arg) => arg.replace(':3000', `:${port}`));
  const output = execFileSync('curl', ['-s', '-o', '-', '-w', '\n%{http_code}', ...real], { encoding: 'utf8' });
  return { status: Number(output.slice(output.lastIndexOf('\n'))) };
}

/** Counts the packages in npm's own list of an installation. @param {string} project */
function count(project) {
  const { packages } = JSON.parse(readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8'));
  const names = Object.keys(packages);
  return { all: names.length, ours: names.filter((name) => name.startsWith('node_modules/@ambit/')).length };
}

/** @param {string} page @param {string} [heading] @returns {string} what is below the heading, or the whole page */
function section(page, heading) {
  const text = readFileSync(page, 'utf8');
  if (!heading) return text;
  const found = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (found === undefined) throw new Error(`${page} has no heading "${heading}"`);
  return found;
}

/** @param {string} text @param {string} language */
function firstBlock(text, language) {
  const block = fencesIn(text).find((fence) => fence.language === language);
  if (!block) throw new Error(`A quick start has no block of ${language}: ${text.slice(0, 60)}`);
  return block.body;
}

/** In the order of a reader, with this repository as the clone. */
async function followTutorial() {
  try {
    for (const fence of fencesIn(readFileSync(TUTORIAL, 'utf8'))) await followStep(fence);
    console.log(`${TUTORIAL}: all steps work`);
  } finally {
    stepServer?.kill('SIGKILL');
  }
}

/** @param {{ line: number, language: string, words: string[], body: string }} fence */
async function followStep({ line, language, words, body }) {
  const at = `${TUTORIAL}:${line}`;
  const [mark, file] = words;
  if (mark === 'tutorial' && file) {
    // A new version of a file is for the next start.
    await stopServer();
    writeFileSync(join(tutorial, file), body);
    if (file === 'server.ts') listens = body.includes('.listen(');
  } else if (language === 'sh' && listens && SERVER.test(body)) await startServer(at, SERVER.exec(body)?.[1]);
  else if (language === 'sh') stepOutput = runStep(body.replaceAll('localhost:3000', `localhost:${port}`), at);
  else if (language === 'text') expectSame(at, stepOutput, body);
  else if (language === 'json') expectSame(at, comparable(stepOutput), comparable(body));
}

/** @param {string} json */
function comparable(json) {
  return JSON.stringify(JSON.parse(json)).replaceAll(TIME, 'a time');
}

/** @param {string} at @param {string} actual @param {string} shown */
function expectSame(at, actual, shown) {
  if (actual !== shown) throw new Error(`${at} shows\n${shown}\nbut the command printed\n${actual}`);
}

/** @param {string} script @param {string} at */
function runStep(script, at) {
  const env = { ...process.env, npm_config_loglevel: 'error' };
  try {
    const printed = execFileSync('bash', ['-ec', script.replaceAll('../tutorial', tutorial)], {
      cwd: stepFolder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    if (script.includes('cd ../tutorial')) stepFolder = tutorial;
    return printed;
  } catch (error) {
    const { stdout, stderr } = /** @type {{ stdout: string, stderr: string }} */ (error);
    throw new Error(`${at} fails:\n${script}${stdout}${stderr}`, { cause: error });
  }
}

/** @param {string} at @param {string} [option] of node */
async function startServer(at, option) {
  await stopServer();
  runStep('npx tsc', at);
  const env = { ...process.env, PORT: String(port) };
  stepServer = spawn(process.execPath, [...(option ? [option] : []), 'dist/server.js'], {
    cwd: tutorial,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await until(`${at}: the server`, () => {
    if (stepServer?.exitCode !== null) throw new Error(`${at}: the server has exited`);
    return fetch(`http://localhost:${port}/`).then(
      () => true,
      () => false,
    );
  });
}

async function stopServer() {
  if (!stepServer) return;
  const exited = once(stepServer, 'exit');
  stepServer.kill('SIGTERM');
  const [code] = await exited;
  stepServer = undefined;
  if (code !== 0) throw new Error(`The server of the step before exits with ${code}`);
}

/** A project outside this repository: it has only the packed tarballs, strict compiler options, and one application for each host. @param {string[]} names */
async function installWith(names) {
  const tarballs = packInto(scratch);
  let compiled = '';
  for (const name of names) {
    const manager = MANAGERS[name];
    if (!manager) throw new Error(`No package manager named ${name}. They are ${Object.keys(MANAGERS).join(', ')}.`);
    const app = join(scratch, name);
    mkdirSync(app);
    cpSync(join(import.meta.dirname, 'consumer.ts'), join(app, 'consumer.ts'));
    writeFileSync(join(app, 'package.json'), JSON.stringify(CONSUMER));
    await manager.install(app, tarballs);
    if (manager.compiles) {
      writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions: STRICT, include: ['*.ts'] }));
      execFileSync(resolve('node_modules/.bin/tsc'), ['--project', app], { stdio: ['ignore', 2, 2] });
      compiled = join(app, 'out');
    } else if (compiled) cpSync(compiled, join(app, 'out'), { recursive: true });
    else throw new Error(`${name} runs what the project of another package manager compiled: name one before it`);
    process.stdout.write(`${name}: ${manager.node(app, 'out/consumer.js')}`);
  }
}
