// Two ORMs and a queue in one COMMIT: TypeORM, Kysely and pg-boss write an order in one transaction. At each of its
// statements in turn the server process is killed with SIGKILL, or its PostgreSQL backend is terminated. After that, either
// all of them have stored the order or none has, and what the server said about the outcome is true.
//
//   node test/jobs/all-or-nothing.mjs                  200 times
//   node test/jobs/all-or-nothing.mjs --rounds 24      fewer; --queue-outside: the queue has a connection of its own
import { parseArgs } from 'node:util';
import { createDatabase } from './all-or-nothing/database.mjs';
import { MOMENTS, TARGETS } from './all-or-nothing/faults.mjs';
import { Servers } from './all-or-nothing/servers.mjs';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '200' }, 'queue-outside': { type: 'boolean', default: false } },
});
const rounds = Number(options.rounds);
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error('--rounds takes a whole number from 1 on');
  process.exit(2);
}

const database = await createDatabase();
const servers = new Servers({ ...database.settings, queueOutside: options['queue-outside'] });
/** @type {string[]} */
const wrong = [];
/** @type {Record<string, number>} */
const seen = {};
try {
  const { statements } = await servers.place({ order: 'undisturbed' });
  if ((await database.partsOf('undisturbed')).missing.length > 0)
    throw new Error('An undisturbed order was not stored');
  console.log(`${statements.length} statements: ${statements.join(', ')}`);
  for (let round = 0; round < rounds; round += 1) {
    const fault = faultOf(round, statements.length);
    const order = `order-${round + 1}`;
    const { outcome } = await servers.place({ order, fault });
    await database.quiet();
    const { stored, missing } = await database.partsOf(order);
    const where = `${fault.target} ${fault.moment} ${statements[fault.at - 1]}`;
    const result = missing.length === 0 ? 'all' : stored.length === 0 ? 'nothing' : 'a part';
    if (result === 'a part') wrong.push(`${where}: stored ${stored.join(', ')}, not ${missing.join(', ')}`);
    if (outcome === 'committed' && result !== 'all') wrong.push(`${where}: said to be committed, ${result} stored`);
    if (outcome === 'rolled back' && result !== 'nothing')
      wrong.push(`${where}: said to be rolled back, ${result} stored`);
    const line = `${fault.target}, outcome ${outcome}: ${result} stored`;
    seen[line] = (seen[line] ?? 0) + 1;
  }
} finally {
  await servers.stop();
  await database.drop();
}
for (const line of Object.keys(seen).toSorted()) console.log(`${String(seen[line]).padStart(4)}  ${line}`);
for (const line of wrong) console.log(`WRONG  ${line}`);
console.log(`${rounds} rounds, ${wrong.length} wrong`);
process.exitCode = wrong.length > 0 ? 1 : 0;

/**
 * Every statement in turn, each time with another of the six faults.
 *
 * @param {number} round
 * @param {number} statements
 * @returns {import('./all-or-nothing/faults.mjs').Fault}
 */
function faultOf(round, statements) {
  const kinds = TARGETS.flatMap((target) => MOMENTS.map((moment) => ({ target, moment })));
  const kind = kinds[(round + Math.floor(round / statements)) % kinds.length] ?? kinds[0];
  return { at: (round % statements) + 1, ...kind };
}
