// A project outside this repository: it has only the packed tarballs, strict compiler options, and one app per host.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'ambit-consumer-'));
const app = join(scratch, 'app');

/** @type {(command: string, args: readonly string[], cwd: string) => string} */
const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** @param {string} folder */
const manifest = (folder) => JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'));

try {
  for (const folder of readdirSync(join(root, 'packages')).filter((name) => !manifest(name).private)) {
    run('npm', ['pack', '--silent', '--pack-destination', scratch], join(root, 'packages', folder));
  }
  cpSync(join(root, 'scripts/consumer'), app, { recursive: true });
  const tarballs = readdirSync(scratch).filter((name) => name.endsWith('.tgz'));
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...tarballs.map((name) => join(scratch, name))], app);
  run(join(root, 'node_modules/.bin/tsc'), ['--project', app], app);
  for (const program of ['express-app.js', 'fastify-app.js', 'fetch-app.js', 'hono-app.js']) {
    process.stdout.write(`${program}: ${run(process.execPath, [join('out', program)], app)}`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
