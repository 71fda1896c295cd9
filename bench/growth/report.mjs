/** The tables of what measure.mjs has written: `node bench/growth/report.mjs [--file growth.tsv] [--write]`. */
import { parseArgs } from 'node:util';
import { write } from '../results.mjs';
import { median, ratio, table } from '../shared/table.mjs';
import { DEFAULT_FILE, readMeasures } from './measures.mjs';
import { works } from './works.mjs';

const { values: options } = parseArgs({
  options: { file: { type: 'string', default: DEFAULT_FILE }, write: { type: 'boolean', default: false } },
});
const all = readMeasures(options.file);
const distinct = (name, of = all) => [...new Set(of.map((measure) => measure[name]))];
const sizes = distinct('orders').toSorted((a, b) => a - b);
const [smallest, largest] = [sizes[0], sizes.at(-1)];
const growth = `${label(largest)} / ${label(smallest)}`;
const calm = all.filter(({ connections }) => connections === Math.min(...distinct('connections')));
const crowded = all.filter(({ connections }) => connections === Math.max(...distinct('connections')));

const OF_DATABASE = {
  database: 'CPU of PostgreSQL, µs per request',
  blocks: 'pages that PostgreSQL looks at, per request',
  log: 'bytes of write-ahead log per request',
};

const text = [
  ...distinct('host').map(latencies),
  ...Object.entries(OF_DATABASE).map(([name, title]) => `**${title}**\n\n${bySize(name)}`),
  capacity(),
].join('\n\n');
console.log(text);
if (options.write) write('growth', text);

function latencies(host) {
  const rows = rowsOf(calm.filter((measure) => measure.host === host)).map(([work, valuesOf]) => {
    const ratios = ['p50', 'p95', 'p99', 'node'].map((name) =>
      ratio(valuesOf(name, largest), valuesOf(name, smallest)),
    );
    return [work, ...sizes.map((orders) => number(median(valuesOf('p50', orders)))), ...ratios.map(number)];
  });
  const ratioHeads = ['p50', 'p95', 'p99', 'CPU of Node'].map((name) => `${name}, ${growth}`);
  const heads = ['p50 in ms', ...sizes.map(label), ...ratioHeads];
  return `**${host}, ${calm[0].connections} connections**\n\n${table(heads, rows)}`;
}

function bySize(name) {
  const rows = rowsOf(calm).map(([work, valuesOf]) => {
    const medians = sizes.map((orders) => median(valuesOf(name, orders)));
    const grown = medians[0] > 0 ? number(medians.at(-1) / medians[0]) : '-';
    return [work, ...medians.map(number), grown];
  });
  return table(['', ...sizes.map(label), growth], rows);
}

/**
 * For each work a function that gives a measure of all turns with so many orders.
 *
 * @returns {[title: string, valuesOf: (name: string, orders: number) => number[]][]}
 */
function rowsOf(measures) {
  return distinct('work', measures).map((work) => {
    const turns = measures.filter((measure) => measure.work === work);
    const valuesOf = (name, orders) => turns.filter((turn) => turn.orders === orders).map((turn) => turn[name]);
    return [works[work].title, valuesOf];
  });
}

/** What a core bears if it does nothing else, by the CPU time of a request. */
function capacity() {
  const writing = crowded.filter(({ work }) => works[work].title.startsWith('POST'));
  const rows = distinct('host', writing).flatMap((host) =>
    rowsOf(writing.filter((measure) => measure.host === host)).flatMap(([work, valuesOf]) =>
      [smallest, largest].map((orders) => {
        const rates = ['node', 'database'].flatMap((name) => {
          const cpu = valuesOf(name, orders);
          return [1e6 / median(cpu), 1e6 / Math.min(...cpu.filter((used) => used > 0))];
        });
        return [`${work}, ${host}, ${label(orders)}`, ...rates.map((rate) => Math.round(rate).toLocaleString('en'))];
      }),
    ),
  );
  const heads = ['requests per second', 'a Node core, median', 'best', 'a PostgreSQL core, median', 'best'];
  return `**what a core bears, ${crowded[0].connections} connections**\n\n${table(heads, rows)}`;
}

function label(orders) {
  return `10^${Math.round(Math.log10(orders))}`;
}

function number(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 10 ? 1 : 2);
}
