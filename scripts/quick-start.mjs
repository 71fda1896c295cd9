// Follows README.md under "Install" and "Quick start: Express" in a fresh clone and a new project beside it, and sends the
// request that the page shows.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cloneInto } from './fresh-clone.mjs';

const readme = readFileSync('README.md', 'utf8');
const scratch = mkdtempSync(join(tmpdir(), 'ambit-quick-start-'));
const clone = join(scratch, 'ambit');
const project = join(scratch, 'shop');

try {
  mkdirSync(clone);
  cloneInto(clone);
  // `npm ci` would replace the dependencies that the clone shares with this folder.
  run(firstBlock('Install', 'sh').replace('npm ci\n', ''), clone);
  // Port 3000 may be in use on this machine.
  const program = firstBlock('Quick start: Express', 'ts').replace(
    'app.listen(3000);',
    'const server = app.listen(0, () => console.log((server.address() as { port: number }).port));',
  );
  writeFileSync(join(project, 'app.mts'), program);
  run('npx tsc', project);
  await tryOut();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

async function tryOut() {
  const server = spawn(process.execPath, ['app.mjs'], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = await once(server.stdout, 'data');
    const url = `http://127.0.0.1:${String(port).trim()}/orders`;
    /** @param {object} body */
    const send = (body) =>
      fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    const [, shown = ''] = /```json\n(.*)\n```/.exec(section('Quick start: Express')) ?? [];
    const stored = await send({ product: 'apple' });
    expect(
      stored.status === 201 && (await stored.text()) === JSON.stringify(JSON.parse(shown)),
      'the response to the order of the page',
    );
    expect((await send({})).status >= 400, 'an order without a product must fail');
    console.log('README.md: install and quick start work');
  } finally {
    server.kill();
  }
}

/** @param {boolean} holds @param {string} what */
function expect(holds, what) {
  if (!holds) throw new Error(`README.md is wrong: ${what}`);
}

/** @param {string} heading */
function section(heading) {
  return readme.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
}

/** @param {string} heading @param {string} language */
function firstBlock(heading, language) {
  const [, block] = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(section(heading)) ?? [];
  if (block === undefined) throw new Error(`README.md has no block of ${language} under "${heading}"`);
  return block;
}

/** @param {string} script @param {string} cwd */
function run(script, cwd) {
  const env = { ...process.env, npm_config_loglevel: 'error' };
  execFileSync('bash', ['-ec', script], { cwd, stdio: ['ignore', 'ignore', 'inherit'], env });
}
