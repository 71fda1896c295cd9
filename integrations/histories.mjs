// @ts-check
// Histories of transactions of two processes, checked for the anomalies that their level forbids: through every pool and ORM, with
// plain drivers as the control, without and with broken connections and processes that are killed, and through pools that are wrong on
// purpose.
//
//   node integrations/histories.mjs                      1,000 transactions for each pool and level, 500 for each ORM
//   node integrations/histories.mjs --short              as the tests run it
//   node integrations/histories.mjs --only TypeORM       one pool, ORM, database or mutant
//   node integrations/histories.mjs --except Prisma      all but one, such as Prisma where it is not installed
//   node integrations/histories.mjs --seed 7            the same plans again
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { describeAnomaly } from '@ambit/host-contract';
import { MUTANTS } from './histories/mutants.mjs';
import { Report } from './histories/report.mjs';
import { KEEPS, LEVELS, Rounds } from './histories/rounds.mjs';
import { SUBJECTS } from './histories/subjects.mjs';

/**
 * @typedef {import('./histories/rounds.mjs').Round} Round
 * @typedef {import('./histories/subjects.mjs').SubjectName} SubjectName
 * @typedef {import('./histories/mutants.mjs').Mutant} Mutant
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
const { transactions, ormTransactions, rounds, killRounds, mutantRounds } = options.short
  ? { transactions: 120, ormTransactions: 60, rounds: 1, killRounds: 2, mutantRounds: 12 }
  : { transactions: 500, ormTransactions: 250, rounds: 2, killRounds: 12, mutantRounds: 20 };
const MUTANT_TRANSACTIONS = 100;

const players = new Rounds();
const report = new Report();
console.log(`--seed ${seed}`);
try {
  for (const subject of SUBJECTS.filter(isMeant)) await playLevels(subject, false);
  for (const subject of SUBJECTS.filter(isMeant)) if (isBreakable(subject)) await playLevels(subject, true);
  for (const subject of SUBJECTS.filter(isMeant)) if (isKillable(subject)) await playKills(subject);
  for (const mutant of MUTANTS) {
    for (const subject of SUBJECTS) if (isTriedOn(mutant, subject)) await findMutant(mutant, subject);
  }
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

/** The pool of each database that the mutants are made of. @param {Mutant} mutant @param {SubjectName} subject */
function isTriedOn(mutant, { name, database }) {
  const isBase = ['createPostgresPool', 'fromPGlite', 'createSqlitePool', 'fromMysql2Pool'].includes(name);
  const databases = options.short ? mutant.databases.slice(0, 1) : mutant.databases;
  return isBase && databases.includes(database) && isMeant({ name: mutant.name, database });
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
  const [forbidden] = round.forbidden;
  if (forbidden) console.log(`\n${subject.name} at ${round.level}: ${describeAnomaly(round.history, forbidden)}\n`);
}

/**
 * Plays until the mutant is found.
 *
 * @param {Mutant} mutant
 * @param {SubjectName} subject
 */
async function findMutant(mutant, subject) {
  const { name, level, faults = false, kills = 0 } = mutant;
  const start = performance.now();
  let before = 0;
  for (let round = 0; round < mutantRounds; round += 1) {
    const one = { subject, level, transactions: MUTANT_TRANSACTIONS, seed: seed + round, mutant, faults, kills };
    const { history, forbidden } = await players.play(one);
    const found = firstOf(
      history,
      forbidden.filter((anomaly) => anomaly.name === (mutant.as ?? anomaly.name)),
    );
    if (found) {
      const seconds = (performance.now() - start) / 1000;
      return report.addMutant({
        name,
        level,
        database: subject.database,
        seconds,
        ...found,
        after: before + found.after,
      });
    }
    before += history.length;
  }
  return report.addMutant({ name, level, database: subject.database, after: before });
}

/**
 * The anomaly that was complete first, and how many transactions had begun by then.
 *
 * @param {Round['history']} history
 * @param {Round['forbidden']} anomalies
 */
function firstOf(history, anomalies) {
  const order = history.toSorted((a, b) => a.began - b.began).map(({ name }) => name);
  const recorded = order.filter((name) => !name.startsWith('all'));
  const found = anomalies.map((anomaly) => {
    const places = anomaly.transactions.map((name) => recorded.indexOf(name));
    return { anomaly, after: Math.max(...places) + 1 };
  });
  const [first] = found.toSorted((a, b) => a.after - b.after);
  return first && { as: first.anomaly.name, after: first.after };
}
