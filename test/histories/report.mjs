// @ts-check
import { LEVELS } from './rounds.mjs';

/**
 * @typedef {import('./rounds.mjs').Round} Round
 * @typedef {import('./subjects.mjs').SubjectName} SubjectName
 */

/** Anomalies that each level allows. A run without them has no transactions that met, so it proves nothing. */
const ALLOWED = [
  ['read committed', 'phantom (P3)'],
  ['repeatable read', 'write skew by predicate (G2)'],
];

/** The runs so far, and their failures. */
export class Report {
  /** @type {string[]} */
  failures = [];
  /** @type {{ subject: SubjectName, round: Round }[]} */
  #rounds = [];

  /** How many were committed. */
  get transactions() {
    return sum(this.#rounds, ({ round }) => countOf(round, 'committed'));
  }

  /**
   * @param {SubjectName} subject
   * @param {Round} round
   */
  add(subject, round) {
    this.#rounds.push({ subject, round });
    const { level, seed, faults, kills, forbidden, errors, history } = round;
    const how = faults ? ', with broken connections' : kills > 0 ? `, ${kills} killed` : '';
    const where = `${subject.name} on ${subject.database} at ${level}${how}, --seed ${seed}`;
    const planned = new Set(history.map(({ name }) => name.replace(/\..*/, ''))).size;
    for (const { name } of forbidden) this.failures.push(`${where}: ${name}`);
    if (!faults) for (const error of errors) this.failures.push(`${where}: ${error}`);
    // How many a broken connection hits depends on how busy the machine is.
    const least = kills > 0 ? 0 : planned / (faults ? 10 : 2);
    if (countOf(round, 'committed') < least) this.failures.push(`${where}: too few were committed`);
    console.log(
      `${where}: ${countOf(round, 'committed')} committed, ${forbidden.length} forbidden, ${round.seconds.toFixed(1)} s`,
    );
  }

  /** Where transactions do not meet, or no COMMIT is lost, a run without anomalies says nothing. */
  checkThatItSaysSomething() {
    for (const database of /** @type {const} */ (['PostgreSQL', 'MariaDB'])) {
      const rounds = this.#rounds.flatMap(({ round }) => (round.database === database ? [round] : []));
      for (const [level, name] of ALLOWED)
        if (!rounds.some((round) => round.level === level && round.allowed.some((one) => one.name === name)))
          this.failures.push(`${database} at ${level} showed no ${name}, which the level allows`);
      if (!rounds.some((round) => countOf(round, 'unknown') > 0))
        this.failures.push(`${database}: no outcome was unknown`);
    }
    const killed = this.#rounds.flatMap(({ round }) => (round.kills > 0 ? [round] : []));
    if (!killed.some((round) => countOf(round, 'unknown') > 0)) this.failures.push('No process was killed at a COMMIT');
  }

  /** For each pool and ORM: what became of its transactions, and how many anomalies showed that each level allows. */
  text() {
    const head = ['database', 'through', 'committed', 'rolled back', 'unknown', 'COMMITs cut', 'killed'];
    const columns = [...head, ...LEVELS.map((level) => `allowed, ${level}`), 'forbidden'];
    const rows = Array.from(
      Map.groupBy(this.#rounds, ({ subject }) => subject),
      ([subject, played]) => {
        const all = played.map(({ round }) => round);
        const outcomes = ['committed', 'rolled back', 'unknown'].map((name) =>
          sum(all, (round) => countOf(round, name)),
        );
        const allowed = LEVELS.map((level) => sum(all, (round) => (round.level === level ? round.allowed.length : 0)));
        const harm = [sum(all, ({ broken }) => broken), sum(all, ({ kills }) => kills)];
        const forbidden = sum(all, (round) => round.forbidden.length);
        return [subject.database, subject.name, ...outcomes, ...harm, ...allowed, forbidden].map(String);
      },
    );
    return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  }
}

/** @param {Round} round @param {string} outcome */
function countOf({ history }, outcome) {
  return history.filter((one) => one.outcome === outcome && !one.name.startsWith('all')).length;
}

/** @template T @param {readonly T[]} list @param {(one: T) => number} of */
function sum(list, of) {
  return list.reduce((all, one) => all + of(one), 0);
}
