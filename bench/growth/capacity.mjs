/**
 * What a core bears if it does nothing else, by the CPU time of a request: `node bench/growth/capacity.mjs [--connections 16] [--data
 * <folder>]`, after `node bench/growth/measure.mjs --database postgres --connections 16 --work new-user,order,order-key,order-hot`
 * on `--host fastify` and `--host express`.
 */
import { parseArgs } from 'node:util';
import { table } from '../shared/table.mjs';
import { DEFAULT_FOLDER } from './databases.mjs';
import { fileOf, readPasses } from './measures.mjs';
import { Turns } from './turns.mjs';
import { works } from './works.mjs';

const { values: options } = parseArgs({
  options: {
    connections: { type: 'string', default: '16' },
    data: { type: 'string', default: DEFAULT_FOLDER },
  },
});
const rows = [];
for (const host of ['fastify', 'express']) {
  const passes = readPasses(fileOf(options.data, 'postgres', host, options.connections));
  const sizes = passes[0].map(({ size }) => size).filter((size) => !size.endsWith('again'));
  for (const work of new Set(passes.map(([turn]) => turn.work))) {
    const turns = new Turns(passes.filter(([turn]) => turn.work === work));
    for (const size of [sizes[0], sizes.at(-1)]) {
      const rates = ['node', 'database'].flatMap((name) => [turns.median(name, size), turns.least(name, size)]);
      rows.push([
        `${works[work].title}, ${host}, ${Number(size).toLocaleString('en')} orders`,
        ...rates.map((cpu) => Math.round(1e6 / cpu).toLocaleString('en')),
      ]);
    }
  }
}
const heads = ['requests per second', 'a Node core, median', 'best', 'a PostgreSQL core, median', 'best'];
const text = `${options.connections} connections.\n\n${table(heads, rows)}`;
console.log(text);
