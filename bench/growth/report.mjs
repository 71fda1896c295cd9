/**
 * The tables of what measure.mjs has written: `node bench/growth/report.mjs --database postgres [--host fastify] [--connections 1]
 * [--counts] [--data <folder>]`. With --counts they have only what is counted,
 * which other programs on the machine do not change.
 */
import { parseArgs } from 'node:util';
import { pick } from '../shared/pick.mjs';
import { table } from '../shared/table.mjs';
import { DEFAULT_FOLDER, FLAT } from './databases.mjs';
import { ENGINES } from './engines/engines.mjs';
import { fileOf, readPasses } from './measures.mjs';
import { Turns } from './turns.mjs';
import { works } from './works.mjs';

const { values: options } = parseArgs({
  options: {
    database: { type: 'string' },
    host: { type: 'string', default: 'fastify' },
    connections: { type: 'string', default: '1' },
    counts: { type: 'boolean', default: false },
    data: { type: 'string', default: DEFAULT_FOLDER },
  },
});
/** A count of less than this per request says nothing as a ratio. */
const LEAST = 0.5;
const TIMES = ['p50', 'p95', 'p99'];
const CPU = { node: 'CPU of Node in µs per request', database: 'CPU of the database in µs per request' };

for (const dialect of pick(options.database, Object.keys(ENGINES))) {
  const passes = readPasses(fileOf(options.data, dialect, options.host, options.connections));
  const text = reportOf(ENGINES[dialect], passes);
  console.log(text);
}

function reportOf({ settings, columns }, passes) {
  const labels = passes[0].map(({ size }) => size).toSorted((a, b) => parseInt(a, 10) - parseInt(b, 10));
  const again = labels.find((label) => label.endsWith('again'));
  const sizes = labels.filter((label) => label !== again);
  const [smallest, ...larger] = sizes;
  const largest = sizes.at(-1);
  const growth = `${short(largest)} / ${short(smallest)}`;
  const rows = Object.keys(works)
    .map((work) => ({ title: works[work].title, turns: new Turns(passes.filter(([turn]) => turn.work === work)) }))
    .filter(({ turns }) => turns.count > 0);
  const measures = [...TIMES, ...Object.keys(CPU).filter((name) => rows[0].turns.has(name))];
  const judged = (turns, name) => ratioText(turns.ratio(name, largest, smallest));
  const scatter = (turns, name) => ratioText(turns.ratio(name, again, smallest));
  const least = (turns, name) => number(turns.least(name, largest) / turns.least(name, smallest));
  const medians = (turns, name) => sizes.map((size) => number(turns.median(name, size)));

  const conditions = () => {
    const { host, connections } = passes[0][0];
    const days = passes.map(([{ at }]) => new Date(at).toISOString().slice(0, 10));
    const clients = connections === 1 ? 'one connection' : `${connections} connections`;
    return `${settings}; ${host}, ${clients}, ${rows[0].turns.count} turns of each size and work, ${[...new Set(days)].join(' to ')}.`;
  };
  const verdict = () => {
    const found = rows.flatMap(({ title, turns }) =>
      measures.flatMap((name) => larger.map((size) => ({ title, name, size, ...turns.ratio(name, size, smallest) }))),
    );
    const of = (wanted) => found.filter((each) => verdictOf(each) === wanted);
    const beyond = of('beyond').map((each) => `- ${each.title}, ${each.name}, ${short(each.size)}: ${ratioText(each)}`);
    const sentence = `Of ${found.length} ratios of latencies and CPU times to those with ${short(smallest)} orders, ${of('within').length} are within ${FLAT} with their whole interval, ${beyond.length} are beyond it (bold), and ${of('unknown').length} may be either (in italics).`;
    return [sentence, ...(beyond.length > 0 ? [beyond.join('\n')] : [])];
  };
  const latencies = () =>
    table(
      [
        'latency in ms',
        ...sizes.map((size) => `p50, ${short(size)}`),
        ...TIMES.map((name) => `${name}, ${growth}`),
        'p50, same size',
        'least p50',
      ],
      rows.map(({ title, turns }) => [
        title,
        ...medians(turns, 'p50'),
        ...TIMES.map((name) => judged(turns, name)),
        scatter(turns, 'p50'),
        least(turns, 'p50'),
      ]),
    );
  const cpu = (name) =>
    table(
      [CPU[name], ...sizes.map(short), growth, 'same size', 'least'],
      rows.map(({ title, turns }) => [
        title,
        ...medians(turns, name),
        judged(turns, name),
        scatter(turns, name),
        least(turns, name),
      ]),
    );
  const counts = ([name, heading]) => {
    const isZero = rows.every(({ turns }) => sizes.every((size) => turns.median(name, size) === 0));
    if (isZero) return `${heading}, per request: 0 for each work and size.`;
    return table(
      [`${heading}, per request`, ...sizes.map(short), growth],
      rows.map(({ title, turns }) => {
        const [few, most] = [smallest, largest].map((size) => turns.median(name, size));
        return [title, ...medians(turns, name), few < LEAST ? '-' : number(most / few)];
      }),
    );
  };
  const starts = () => {
    const seconds = sizes.map((size) => `${number(rows[0].turns.median('start', size) / 1000)} (${short(size)})`);
    return `Seconds until the service listened: ${seconds.join(', ')}.`;
  };

  const counted = Object.entries(columns).map(counts);
  if (options.counts) return [conditions(), ...counted].join('\n\n');
  const timed = [
    ...verdict(),
    latencies(),
    ...Object.keys(CPU)
      .filter((name) => measures.includes(name))
      .map(cpu),
    starts(),
  ];
  return [conditions(), ...timed, ...counted].join('\n\n');
}

function verdictOf({ low, high }) {
  if (high <= FLAT) return 'within';
  return low > FLAT ? 'beyond' : 'unknown';
}

function ratioText(found) {
  const mark = { within: '', unknown: '_', beyond: '**' }[verdictOf(found)];
  const [middle, low, high] = [found.middle, found.low, found.high].map((ratio) => ratio.toFixed(2));
  return `${mark}${middle} (${low} to ${high})${mark}`;
}

function short(size) {
  return `10^${Math.round(Math.log10(parseInt(size, 10)))}`;
}

function number(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 10 ? 1 : 2);
}
