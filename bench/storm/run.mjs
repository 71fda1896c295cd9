/**
 * An abort storm: `node bench/storm/run.mjs [--seconds 20] [--sockets 48] [--only express-ambit,...] [--seed 1] [--write]`.
 * Clients leave in the middle, pipeline, and cut their uploads; then we count what the servers left behind. It needs
 * PostgreSQL at DATABASE_URL, and makes a database of its own there. `--write` replaces the table in results.md.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { contestants } from './contestants.mjs';
import { createDatabase } from './database.mjs';
import { judge, report } from './report.mjs';
import { write } from '../shared/results.mjs';
import { storm } from './storm.mjs';

const SETTLE_MS = 10_000;
const here = new URL('.', import.meta.url);
/** The other runtimes than Node, which the tests install. */
const RUNTIMES = {
  bun: { folder: 'bun-1', execArgv: ['--bun'] },
  deno: { folder: 'deno-2', execArgv: ['run', '--allow-all'] },
};

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    sockets: { type: 'string', default: '48' },
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
});
const seconds = Number(options.seconds);
const sockets = Number(options.sockets);

const names = Object.keys(contestants).filter((name) => options.only?.split(',').includes(name) ?? true);

const results = [];
for (const name of names) {
  const contestant = contestants[name];
  const runtime = runtimeOptions(contestant.runtime);
  if (!runtime) continue;
  const database = await createDatabase();
  const server = await start(name, database.url, runtime);
  const weather = await storm({ port: server.port, seconds, sockets, seed: Number(options.seed) });
  const left = await settled(server);
  const orders = await database.count(weather.acknowledged);
  server.stop();
  await database.drop();
  results.push({ title: contestant.title, package: contestant.package, ...weather, ...left, ...orders });
}
const text = report(results, { seconds, sockets });
console.log(text);
if (options.write) write('storm', text);
process.exitCode = judge(results);

async function start(name, url, runtime) {
  const child = fork(new URL('child.mjs', here), [name], {
    ...runtime,
    env: { ...process.env, NODE_ENV: 'production', STORM_DATABASE_URL: url },
  });
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} exited with code ${code}`);
  });
  const nextMessage = async () => (await Promise.race([once(child, 'message'), died]))[0];
  const port = await nextMessage();
  const ask = () => {
    child.send('count');
    return nextMessage();
  };
  const stop = () => {
    died.catch(() => undefined);
    child.kill('SIGKILL');
  };
  return { port, ask, stop };
}

/** What is left when nothing changes any more. */
async function settled({ ask }) {
  let left = await ask();
  for (const until = Date.now() + SETTLE_MS; Date.now() < until && left.open + left.out > 0;) {
    await sleep(500);
    const now = await ask();
    if (now.disposed === left.disposed && now.out === left.out) return now;
    left = now;
  }
  return left;
}

/** Gives the options of `fork()`, or undefined where the runtime is not installed. */
function runtimeOptions(name = 'node') {
  if (name === 'node') return {};
  const { folder, execArgv } = RUNTIMES[name];
  const execPath = fileURLToPath(new URL(`../../.cache/${folder}/node_modules/.bin/${name}`, import.meta.url));
  if (existsSync(execPath)) return { execPath, execArgv };
  console.error(
    `Without ${name}: install it with 'node tools/on-node.mjs ${name} node_modules/vitest/vitest.mjs run packages/fetch/test'.`,
  );
  return undefined;
}
