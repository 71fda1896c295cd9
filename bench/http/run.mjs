/**
 * Server CPU per request, over the bare host: `node bench/http/run.mjs [--processes 6] [--rounds 8] [--requests 4000]
 * [--work scope,transaction] [--host fastify,express] [--only bare,hand,ambit] [--write]`. Throughput on loopback is too
 * noisy to tell these apart; the CPU time of the server's process is not.
 */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { hosts, works } from './contestant.mjs';
import { openLoad } from './load.mjs';
import { report } from './report.mjs';
import { write } from '../results.mjs';

const WAYS = ['bare', 'hand', 'ambit', 'awilix', 'nest'];
const CONNECTIONS = 16;
const WARM_UP = 15_000;

const { values: options } = parseArgs({
  options: {
    processes: { type: 'string', default: '6' },
    rounds: { type: 'string', default: '8' },
    requests: { type: 'string', default: '4000' },
    work: { type: 'string', default: Object.keys(works).join() },
    host: { type: 'string', default: hosts.join() },
    only: { type: 'string', default: WAYS.join() },
    write: { type: 'boolean', default: false },
  },
});
const requests = Number(options.requests);

const results = [];
for (const work of options.work.split(',')) {
  for (const host of options.host.split(',')) {
    const ways = options.only.split(',').filter((way) => existsSync(fileOf(work, host, way)));
    results.push({ work, host, rows: await interleave(work, host, ways) });
  }
}
console.log(report(results));
if (options.write) write('http', report(results));

/**
 * All contestants of a host side by side, one measure at a time, each time another one first. A process is one throw of
 * dice (what is inlined, where things lie), so fresh ones take over every few rounds. Gives microseconds per request.
 */
async function interleave(work, host, ways) {
  const measures = Object.fromEntries(ways.map((way) => [way, []]));
  for (let process = 0; process < Number(options.processes); process++) {
    const running = [];
    for (const way of ways) running.push({ way, ...(await start(work, `${work}-${host}-${way}`)) });
    for (let round = 0; round < Number(options.rounds); round++) {
      const first = round % running.length;
      for (const { way, measure } of [...running.slice(first), ...running.slice(0, first)]) {
        measures[way].push(await measure());
      }
    }
    for (const { stop } of running) stop();
  }
  const rows = [];
  for (const way of ways) {
    const { contestant } = await import(fileOf(work, host, way).href);
    rows.push({ ...contestant, measures: measures[way], bare: measures.bare });
  }
  return rows;
}

/** Starts a server in a process of its own, sees that it gives the right answer, and warms it up. */
async function start(work, name) {
  const child = fork(new URL('child.mjs', import.meta.url), [name], {
    env: { ...process.env, NODE_ENV: 'production' },
  });
  let onMessage = () => {};
  let onExit = () => {};
  child.on('message', (message) => onMessage(message));
  child.on('exit', (code) => onExit(new Error(`${name} failed: exit code ${code}`)));
  const answer = () => new Promise((resolve, reject) => ([onMessage, onExit] = [resolve, reject]));

  const port = await answer();
  const cpu = () => {
    child.send('cpu');
    return answer();
  };
  // Connections are new each time: while others are measured, a server may close those that are idle.
  const measure = async (count) => {
    const load = await openLoad(port, { connections: CONNECTIONS, ...works[work] });
    const before = await cpu();
    await load.send(count);
    const after = await cpu();
    load.close();
    return (after - before) / count;
  };
  await measure(WARM_UP);
  return {
    measure: () => measure(requests),
    stop: () => {
      onExit = () => {};
      child.kill();
    },
  };
}

function fileOf(work, host, way) {
  return new URL(`contestants/${work}-${host}-${way}.mjs`, import.meta.url);
}
