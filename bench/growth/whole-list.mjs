/**
 * `GET /api/users` without a limit, by the number of users: `node bench/growth/whole-list.mjs [--database postgres] [--sizes ...]
 * [--host fastify] [--rounds 3] [--data <folder>]`. Prints when the first byte arrived, when the last one did, and what a user cost, as medians.
 */
import { get } from 'node:http';
import { parseArgs } from 'node:util';
import { pick } from '../shared/pick.mjs';
import { median, table } from '../shared/table.mjs';
import { DEFAULT_FOLDER, Databases, nameOf, SIZES } from './databases.mjs';
import { ENGINES } from './engines/engines.mjs';
import { usersOf } from './rows.mjs';
import { startTargets } from './targets.mjs';

const { values: options } = parseArgs({
  options: {
    database: { type: 'string' },
    sizes: { type: 'string', default: SIZES.join(',') },
    host: { type: 'string', default: 'fastify' },
    rounds: { type: 'string', default: '3' },
    data: { type: 'string', default: DEFAULT_FOLDER },
  },
});
const rows = [];
for (const dialect of pick(options.database, Object.keys(ENGINES))) {
  const databases = await Databases.open(dialect, options.data);
  const { engine } = databases;
  const sizes = options.sizes.split(',').map((label) => ({ name: nameOf(label), orders: Number(label), label }));
  const { targets, stop } = await startTargets(engine, options.host, sizes);
  for (const target of targets) {
    await readList(target.port);
    const turns = [];
    for (let round = 0; round < Number(options.rounds); round++) {
      const databaseCpu = engine.startCpu() ?? (() => 0);
      const { node } = await target.used();
      const turn = await readList(target.port);
      turns.push({ ...turn, node: (await target.used()).node - node, database: databaseCpu() });
    }
    const of = (name) => median(turns.map((turn) => turn[name]));
    const users = of('users');
    rows.push([
      `${dialect}, ${usersOf(target.orders).toLocaleString('en')} users`,
      ...[of('firstMs'), of('lastMs'), of('node') / users, of('database') / users].map((value) => value.toFixed(2)),
    ]);
  }
  await stop();
  await databases.stop();
}
console.log(table(['', 'first byte, ms', 'last byte, ms', 'µs of Node per user', 'µs of the database per user'], rows));

function readList(port) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    get({ port, host: '127.0.0.1', path: '/api/users' }, (response) => {
      let firstMs;
      let users = 0;
      response.on('data', (chunk) => {
        firstMs ??= performance.now() - start;
        for (let at = chunk.indexOf('{'); at >= 0; at = chunk.indexOf('{', at + 1)) users += 1;
      });
      response.on('end', () => resolve({ firstMs, users, lastMs: performance.now() - start })).on('error', reject);
    }).on('error', reject);
  });
}
