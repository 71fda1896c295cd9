// Follows each quick start as written, in a fresh clone and a new project beside it: installs what its page installs, counts the packages, compiles
// the program with the compiler that was installed, runs it, and compares what it prints or responds with what the page shows. Then it creates a project
// from the clone.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort, until } from '../lab/kit/program.mjs';
import { examplesIn, fencesIn } from './documents.mjs';
import { cloneInto } from './fresh-clone.mjs';

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

const scratch = mkdtempSync(join(tmpdir(), 'ambit-quick-start-'));
const clone = join(scratch, 'ambit');
const port = await freePort();
/** Lets a program that listens on port 3000 listen on another one, because this machine may use it. */
const otherPort = join(scratch, 'other-port.mjs');

try {
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
} finally {
  rmSync(scratch, { recursive: true, force: true });
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

/** What npm has installed: its own list of it. @param {string} project */
function count(project) {
  const { packages } = JSON.parse(readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8'));
  const names = Object.keys(packages);
  return { all: names.length, ours: names.filter((name) => name.startsWith('node_modules/@ambit/')).length };
}

/** @param {boolean} holds @param {string} problem */
function expect(holds, problem) {
  if (!holds) throw new Error(problem);
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

/** @param {string} script @param {string} cwd @param {import('node:child_process').StdioOptions} [stdio] */
function shell(script, cwd, stdio = ['ignore', 'pipe', 'inherit']) {
  const env = { ...process.env, npm_config_loglevel: 'error', npm_config_audit: 'false', npm_config_fund: 'false' };
  return execFileSync('bash', ['-ec', script], { cwd, stdio, env, encoding: 'utf8' });
}
