// @ts-check
// Histories of transactions of two processes, checked for the anomalies that their level forbids: through every pool and ORM, without and
// with broken connections, and with processes that are killed.
//
//   npm run lab -- histories                      1,000 transactions for each pool and level, 500 for each ORM
//   npm run lab -- histories --short              as the tests run it
//   npm run lab -- histories --only TypeORM       one pool, ORM or database; --except all but one, such as Prisma where it is not installed
//   npm run lab -- histories --seed 7             the same plans again
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Report } from './report.mjs';
import { KEEPS, LEVELS, Rounds } from './rounds.mjs';
import { SUBJECTS } from './subjects.mjs';

/**
 * @typedef {import('./rounds.mjs').Round} Round
 * @typedef {import('./subjects.mjs').SubjectName} SubjectName
 */

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    except: { type: 'string' },
    seed: { type: 'string' },
  },
});
const seed = Number(options.seed ?? randomInt(1, 2 ** 20));
const { transactions, ormTransactions, rounds, killRounds } = options.short
  ? { transactions: 120, ormTransactions: 60, rounds: 1, killRounds: 2 }
  : { transactions: 500, ormTransactions: 250, rounds: 2, killRounds: 12 };

const players = new Rounds();
const report = new Report();
console.log(`--seed ${seed}`);
try {
  for (const subject of SUBJECTS.filter(isMeant)) await playLevels(subject, false);
  for (const subject of SUBJECTS.filter(isMeant)) if (isBreakable(subject)) await playLevels(subject, true);
  for (const subject of SUBJECTS.filter(isMeant)) if (isKillable(subject)) await playKills(subject);
} finally {
  await players.close();
}
if (options.only === '') report.checkThatItSaysSomething();
console.log(report.text());
for (const line of report.failures) console.log(`WRONG  ${line}`);
console.log(`${report.transactions} transactions, ${report.failures.length} wrong`);
process.exitCode = report.failures.length > 0 ? 1 : 0;

/** @param {{ name: string, database?: string }} subject */
function isMeant({ name, database = '' }) {
  const all = `${name}, ${database}`;
  return all.includes(options.only) && (options.except === undefined || !all.includes(options.except));
}

/** A server whose connections a proxy can break; ORMs send COMMIT through the same pools. @param {SubjectName} subject */
function isBreakable({ database, isOrm }) {
  return (database === 'PostgreSQL' || database === 'MariaDB') && !isOrm;
}

/** The process of SQLite is the database, so it may die at any moment of a COMMIT. @param {SubjectName} subject */
function isKillable({ database, isOrm }) {
  return database === 'SQLite' && !isOrm;
}

/**
 * @param {SubjectName} subject
 * @param {boolean} faults
 */
async function playLevels(subject, faults) {
  // Where a weaker level is no different from the strongest, one of them is enough.
  const hasOneLevel = KEEPS[subject.database]['read committed'] === 'strict serializable';
  for (const level of options.short && hasOneLevel ? LEVELS.slice(-1) : LEVELS) {
    for (let round = 0; round < rounds; round += 1) {
      const count = subject.isOrm ? ormTransactions : transactions;
      add(subject, await players.play({ subject, level, transactions: count, seed: seed + round, faults }));
    }
  }
}

/** @param {SubjectName} subject */
async function playKills(subject) {
  for (let round = 0; round < killRounds; round += 1) {
    const kills = 1 + (round % 2);
    add(subject, await players.play({ subject, level: 'serializable', transactions, seed: seed + round, kills }));
  }
}

/**
 * @param {SubjectName} subject
 * @param {Round} round
 */
function add(subject, round) {
  report.add(subject, round);
  for (const { name, transactions: involved, because } of round.forbidden.slice(0, 1)) {
    console.log(`\n${subject.name} at ${round.level}: ${name}\n  ${because.join('\n  ')}`);
    for (const one of round.history.filter((each) => involved.includes(each.name))) console.log(JSON.stringify(one));
  }
}
