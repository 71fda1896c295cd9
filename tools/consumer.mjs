// A project outside this repository: it has only the packed tarballs, strict compiler options, and one app per host.
//   node tools/consumer.mjs              installed with npm
//   node tools/consumer.mjs pnpm yarn    with others; Yarn with Plug'n'Play
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { MANAGERS } from './package-managers.mjs';
import { packInto } from './packed.mjs';

const root = resolve(import.meta.dirname, '..');
const asked = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), 'ambit-consumer-'));

/** @param {string} project */
const compile = (project) =>
  void execFileSync(join(root, 'node_modules/.bin/tsc'), ['--project', project], { stdio: ['ignore', 2, 2] });

try {
  const tarballs = packInto(scratch);
  let compiled = '';
  for (const name of new Set(asked.length > 0 ? asked : ['npm'])) {
    const manager = MANAGERS[name];
    if (!manager) throw new Error(`No package manager named ${name}. They are ${Object.keys(MANAGERS).join(', ')}.`);
    const app = join(scratch, name);
    cpSync(join(root, 'tools/consumer'), app, { recursive: true });
    await manager.install(app, tarballs);
    if (manager.compiles) {
      compile(app);
      compiled = join(app, 'out');
    } else if (compiled) cpSync(compiled, join(app, 'out'), { recursive: true });
    else throw new Error(`${name} runs what the project of another package manager compiled: name one before it`);
    for (const program of ['express-app.js', 'fastify-app.js', 'fetch-app.js', 'hono-app.js'])
      process.stdout.write(`${name}, ${program}: ${manager.node(app, join('out', program))}`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
