/**
 * Server CPU per request, over the bare host: `node bench/http/run.mjs [--processes 4] [--rounds 6] [--requests 48000]
 * [--work scope,transaction] [--host fastify,express] [--only bare,hand,ambit] [--loopback] [--write]`. The clients'
 * sockets are memory, because the kernel's part of a request varies by more than the differences that are looked for; with `--loopback`
 * they are real.
 */
import { parseArgs } from 'node:util';
import { hosts, works } from './contestant.mjs';
import { report } from './report.mjs';
import { write } from '../shared/results.mjs';
import { startChild } from '../shared/process.mjs';
import { interleave, startServer } from '../shared/servers.mjs';

const WAYS = ['bare', 'hand', 'ambit', 'awilix', 'nest'];
const WARM_UP = 32_000;

const { values: options } = parseArgs({
  options: {
    processes: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '6' },
    requests: { type: 'string', default: '48000' },
    work: { type: 'string', default: Object.keys(works).join() },
    host: { type: 'string', default: Object.keys(hosts).join() },
    only: { type: 'string', default: WAYS.join() },
    loopback: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const times = {
  processes: Number(options.processes),
  rounds: Number(options.rounds),
  requests: Number(options.requests),
};

const results = [];
for (const work of options.work.split(',')) {
  for (const host of options.host.split(',')) {
    const contestants = (await import(`./contestants/${host}.mjs`)).contestants[work];
    const ways = options.only.split(',').filter((way) => way in contestants);
    const measures = await interleave(ways, (way) => start(fileOf(work, host, way), works[work]), times);
    const rows = ways.map((way) => ({
      ...contestants[way],
      measures: cpuOf(measures[way]),
      bare: cpuOf(measures.bare),
    }));
    results.push({ work, host, rows });
  }
}
console.log(report(results));
if (options.write) write('http', report(results));

function start(file, work) {
  return options.loopback ? startServer(file, askFor(work)) : startInMemory(file, work);
}

/** Starts a contestant with clients in its own process, which checks its first response, and warms it up. */
async function startInMemory(file, { method, expected }) {
  const program = new URL('in-memory-child.mjs', import.meta.url);
  // Ambit must find the frameworks that the application has.
  const { ask, stop } = await startChild(program, [file.href, method, expected], { NODE_PRESERVE_SYMLINKS: '1' });
  await ask(WARM_UP);
  return { measure: ({ requests }) => ask(requests), stop };
}

function askFor({ method, expected }) {
  const check = (response) => {
    if (!response.includes(expected)) throw new Error(`expected ${expected}, got ${response}`);
  };
  return { requestOf: () => ({ method }), check, warmUp: WARM_UP };
}

function cpuOf(measures) {
  return measures.map(({ cpu }) => cpu);
}

function fileOf(work, host, way) {
  return new URL(`contestants/${host}.mjs?${work}-${way}`, import.meta.url);
}
