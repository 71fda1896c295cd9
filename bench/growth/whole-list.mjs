/**
 * `GET /api/users` without a limit, by the number of users: `node bench/growth/whole-list.mjs [--sizes ...] [--rounds 3]`.
 * Prints when the first byte arrived, when the last one did, and what a user cost, as medians.
 */
import { get } from 'node:http';
import { parseArgs } from 'node:util';
import { median, table } from '../shared/table.mjs';
import { usersOf } from './rows.mjs';
import { SIZES } from './sizes.mjs';
import { HOSTS, startTarget } from './target.mjs';

const { values: options } = parseArgs({
  options: { sizes: { type: 'string', default: SIZES.join(',') }, rounds: { type: 'string', default: '3' } },
});
const rows = [];
for (const host of Object.keys(HOSTS)) {
  for (const orders of options.sizes.split(',').map(Number)) {
    const target = await startTarget(host, orders);
    const turns = [];
    await readList(target.port);
    for (let round = 0; round < Number(options.rounds); round++) {
      const before = await target.used();
      const turn = await readList(target.port);
      const after = await target.used();
      turns.push({ ...turn, node: after.node - before.node, database: after.database - before.database });
    }
    await target.stop();
    const of = (name) => median(turns.map((turn) => turn[name]));
    const users = of('users');
    rows.push([
      `${host}, ${usersOf(orders).toLocaleString('en')} users`,
      ...[of('firstMs'), of('lastMs'), of('node') / users, of('database') / users].map((value) => value.toFixed(2)),
    ]);
  }
}
console.log(table(['', 'first byte, ms', 'last byte, ms', 'µs of Node per user', 'µs of PostgreSQL per user'], rows));

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
