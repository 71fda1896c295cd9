/**
 * The cost of the inspector in the service, while no page is open and while it records: `node bench/inspector/run.mjs [--processes 4] [--rounds 24]
 * [--requests 400] [--work user,users,new-user,order-1] [--write]`. Many short rounds are more exact than a few long ones: no
 * machine is equally fast for long.
 */
import { parseArgs } from 'node:util';
import { median, table, write } from '../shared/results.mjs';
import { dropDatabases } from '../service/database.mjs';
import { startServiceOn } from '../service/server.mjs';
import { works } from '../service/works.mjs';
import { pick, progress } from '../shared/command.mjs';
import { interleave } from '../shared/servers.mjs';

const HOSTS = { Express: 'ambit-express', Fastify: 'ambit' };
/** The first two are the same: their difference is the noise of the third. */
const WAYS = { without: '0', again: '0', mounted: '1', recording: 'always' };

const { values: options } = parseArgs({
  options: {
    processes: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '24' },
    requests: { type: 'string', default: '400' },
    work: { type: 'string', default: 'user,users,new-user,order-1' },
    write: { type: 'boolean', default: false },
  },
});
const times = {
  processes: Number(options.processes),
  rounds: Number(options.rounds),
  requests: Number(options.requests),
};

const rows = [];
try {
  for (const [host, contestant] of Object.entries(HOSTS)) {
    const all = { again: [], mounted: [], recording: [] };
    for (const work of pick(options.work, Object.keys(works))) {
      const measures = await interleave(Object.keys(WAYS), (way) => start(contestant, work, way), times);
      const without = cpuOf(measures.without);
      const ways = Object.keys(all).map((way) => [way, over(measures[way], without)]);
      const ratios = Object.fromEntries(ways);
      rows.push([`${host}, ${works[work].title}`, `${median(without).toFixed(0)} µs`, ...summary(ratios)]);
      for (const way of Object.keys(all)) all[way].push(...ratios[way]);
    }
    rows.push([`**${host}, all of them**`, '', ...summary(all)]);
  }
} finally {
  progress('');
  await dropDatabases();
}
const heads = ['', 'CPU per request', 'a second one without', 'mounted', 'mounted, half of the rounds', 'recording'];
const text = table(heads, rows);
console.log(text);
if (options.write) write('inspector', text);

function start(contestant, work, way) {
  progress(`${works[work].title}, ${contestant}: ${way}`);
  const file = new URL(`../service/contestants/${contestant}.mjs`, import.meta.url);
  return startServiceOn('sqlite', file, work, {
    env: { INSPECTOR: WAYS[way], INSPECTOR_TOKEN: 'a token of 16 characters' },
  });
}

function cpuOf(measures) {
  return measures.map(({ cpu }) => cpu);
}

/** By how much more than the others, in the same round. */
function over(measures, others) {
  return cpuOf(measures).map((cpu, round) => cpu / others[round] - 1);
}

function summary({ again, mounted, recording }) {
  const sorted = mounted.toSorted((a, b) => a - b);
  const [low, high] = [sorted[sorted.length >> 2], sorted[Math.ceil((sorted.length * 3) / 4) - 1]];
  const range = `${percent(low)} to ${percent(high)}`;
  return [percent(median(again)), percent(median(mounted)), range, percent(median(recording))];
}

function percent(part) {
  const tenths = (part * 100).toFixed(1);
  return `${part < 0 ? tenths : `+${tenths}`} %`;
}
