/** The tables of what measure.mjs has written: `node bench/growth/report.mjs [--file growth.tsv] [--write]`. */
import { parseArgs } from 'node:util';
import { write } from '../results.mjs';
import { median, ratio, table } from '../shared/table.mjs';
import { DEFAULT_FILE, readMeasures } from './measures.mjs';
import { works } from './works.mjs';

const { values: options } = parseArgs({
  options: { file: { type: 'string', default: DEFAULT_FILE }, write: { type: 'boolean', default: false } },
});
const measures = readMeasures(options.file);
const distinct = (name, of = measures) => [...new Set(of.map((measure) => measure[name]))];
const LATENCIES = Math.min(...distinct('connections'));
const CAPACITY = Math.max(...distinct('connections'));
const sizes = distinct('orders').toSorted((a, b) => a - b);
const growth = `${label(sizes.at(-1))} / ${label(sizes[0])}`;

const text = [
  ...distinct('host').map((host) => sections(host, LATENCIES, ['p50', 'p95', 'p99'])),
  ...distinct('host').map((host) => sections(host, CAPACITY, ['node', 'database', 'blocks', 'log', 'pages'])),
  capacity(),
].join('\n\n');
console.log(text);
if (options.write) write('growth', text);

function sections(host, connections, names) {
  const titles = {
    p50: 'p50, ms',
    p95: 'p95, ms',
    p99: 'p99, ms',
    node: 'CPU of Node, µs',
    database: 'CPU of PostgreSQL, µs',
    blocks: 'pages that PostgreSQL looks at',
    log: 'bytes of write-ahead log',
    pages: 'whole pages in the log',
  };
  const ofHost = measures.filter((measure) => measure.host === host && measure.connections === connections);
  return names
    .map((name) => {
      const rows = distinct('work', ofHost).map((work) => {
        const turns = (orders) =>
          ofHost
            .filter((measure) => measure.work === work && measure.orders === orders)
            .map((measure) => measure[name]);
        const values = sizes.map((orders) => median(turns(orders)));
        const grown = values[0] === 0 ? '-' : ratio(turns(sizes.at(-1)), turns(sizes[0])).toFixed(2);
        return [works[work].title, ...values.map(number), grown];
      });
      const heads = [`${titles[name]}`, ...sizes.map(label), growth];
      return `**${host}, ${connections} connections**\n\n${table(heads, rows)}`;
    })
    .join('\n\n');
}

/** Requests per second that a core bears, from the CPU time of a request. */
function capacity() {
  const crowded = measures.filter(
    ({ connections, work }) => connections === CAPACITY && works[work].title.startsWith('POST'),
  );
  const rows = distinct('host', crowded).flatMap((host) =>
    distinct('work', crowded).flatMap((work) =>
      [sizes[0], sizes.at(-1)].map((orders) => {
        const turns = crowded.filter((it) => it.host === host && it.work === work && it.orders === orders);
        const perCore = (...names) =>
          Math.round(1_000_000 / median(turns.map((turn) => names.reduce((sum, name) => sum + turn[name], 0))));
        const cells = [perCore('node'), perCore('database'), perCore('database', 'background')];
        return [
          `${works[work].title}, ${host}, ${label(orders)}`,
          ...[...cells, Math.round(median(turns.map(({ rate }) => rate)))].map((cell) => cell.toLocaleString('en')),
        ];
      }),
    ),
  );
  const heads = ['requests per second', 'of a Node core', 'of a core of backends', 'and of background', 'seen'];
  return `**${CAPACITY} connections**\n\n${table(heads, rows)}`;
}

function label(orders) {
  return `10^${Math.round(Math.log10(orders))}`;
}

function number(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 10 ? 1 : 2);
}
