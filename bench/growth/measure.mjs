/**
 * The service on databases of different sizes: `node bench/growth/measure.mjs --database postgres [--sizes 10000,100000,1000000,10000000]
 * [--work order,order-hot,...] [--host fastify] [--generations 3] [--passes 4] [--seconds 0.5] [--connections 1] [--data <folder>]`.
 * It starts the server over the databases of prepare.mjs, fills the small ones again, and appends a line for each turn to a file in the
 * folder, which report.mjs reads.
 *
 * A connection sends its next request when it has its response, and there is one: nothing waits in a queue, so a latency is what the
 * request takes. All services are in one process, and each work is done on all sizes within a few seconds, forth and back, so that
 * they share what V8 has compiled, and other programs of the machine disturb all of them. A second database of the smallest size shows
 * what differs for no reason.
 */
import { parseArgs } from 'node:util';
import { pick } from '../shared/pick.mjs';
import { progress } from '../shared/progress.mjs';
import { DEFAULT_FOLDER, Databases, nameOf, SIZES } from './databases.mjs';
import { ENGINES } from './engines/engines.mjs';
import { appendMeasure, fileOf } from './measures.mjs';
import { startTargets } from './targets.mjs';
import { works } from './works.mjs';

const { values: options } = parseArgs({
  options: {
    database: { type: 'string' },
    sizes: { type: 'string', default: SIZES.join(',') },
    work: { type: 'string' },
    host: { type: 'string', default: 'fastify' },
    generations: { type: 'string', default: '3' },
    passes: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '0.5' },
    connections: { type: 'string', default: '1' },
    data: { type: 'string', default: DEFAULT_FOLDER },
  },
});
const ms = 1000 * Number(options.seconds);
const connections = Number(options.connections);
const sizes = options.sizes.split(',').map((text) => ({ name: nameOf(text), orders: Number(text), label: text }));
const { orders: smallest } = sizes[0];
sizes.push({ name: nameOf(smallest, true), orders: smallest, label: `${smallest} again` });
const names = pick(options.work, Object.keys(works));

for (const dialect of pick(options.database, Object.keys(ENGINES))) {
  const databases = await Databases.open(dialect, options.data);
  try {
    for (const { name, orders } of sizes) await databases.prepare(name, orders, progress);
    for (let generation = 0; generation < Number(options.generations); generation++)
      await measure(databases.engine, fileOf(options.data, dialect, options.host, connections));
  } finally {
    progress('');
    await databases.stop();
  }
}

/** A process is one throw of dice: what is inlined, where things lie. */
async function measure(engine, file) {
  const at = Date.now();
  const { targets, stop } = await startTargets(engine, options.host, sizes);
  try {
    const begun = {};
    for (const work of names) begun[work] = await Promise.all(targets.map((target) => target.begin(work)));
    const inTurn = async (pass, duration, keep) => {
      const order = targets.map((target, i) => ({ target, i }));
      if (pass % 2 === 1) order.reverse();
      for (const work of names)
        for (const { target, i } of order) {
          progress(`${works[work].title}, ${target.label} orders`);
          keep?.(work, target, await target.turn(begun[work][i], { connections, ms: duration }));
        }
    };
    // V8 compiles what is requested first: that does not count.
    for (const pass of [0, 1]) await inTurn(pass, ms / 4);
    for (let pass = 0; pass < Number(options.passes); pass++)
      await inTurn(pass, ms, (work, { label: size, orders, startMs: start }, turn) =>
        appendMeasure(file, { at, pass, work, host: options.host, size, orders, connections, start, ...turn }),
      );
  } finally {
    await stop();
  }
}
