// @ts-check
import { KEEPS, LEVELS } from './rounds.mjs';

/**
 * @typedef {import('./rounds.mjs').Round} Round
 * @typedef {import('./subjects.mjs').SubjectName} SubjectName
 * @typedef {import('./databases.mjs').DatabaseName} DatabaseName
 */

/**
 * @typedef {object} FoundMutant
 * @property {string} name
 * @property {string} level
 * @property {DatabaseName} database
 * @property {number} after so many transactions; where it was not found, all that were tried
 * @property {string} [as] the anomaly that it was found by
 * @property {number} [seconds]
 */

/** What was played, what was wrong with it, and the tables of it. */
export class Report {
  /** @type {string[]} */
  failures = [];
  /** @type {{ subject: SubjectName, round: Round }[]} */
  #rounds = [];
  /** @type {FoundMutant[]} */
  #mutants = [];

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
    // The control shows what the database does by itself.
    if (!subject.isControl) for (const { name } of forbidden) this.failures.push(`${where}: ${name}`);
    if (!faults) for (const error of errors) this.failures.push(`${where}: ${error}`);
    // How many a broken connection hits depends on how busy the machine is.
    const least = kills > 0 ? 0 : planned / (faults ? 10 : 2);
    if (countOf(round, 'committed') < least) this.failures.push(`${where}: too few were committed`);
    console.log(
      `${where}: ${countOf(round, 'committed')} committed, ${forbidden.length} forbidden, ${round.seconds.toFixed(1)} s`,
    );
  }

  /** @param {FoundMutant} mutant */
  addMutant(mutant) {
    this.#mutants.push(mutant);
    const where = `${mutant.name}, on ${mutant.database}`;
    if (mutant.as === undefined) this.failures.push(`${where}: not found in ${mutant.after} transactions`);
    console.log(`${where}: ${mutant.as ?? 'not found'} after ${mutant.after} transactions`);
  }

  /** Where transactions do not meet, or no COMMIT is lost, a run without anomalies says nothing. */
  checkThatItSaysSomething() {
    for (const database of /** @type {const} */ (['PostgreSQL', 'MariaDB'])) {
      const rounds = this.#rounds.flatMap(({ round }) => (round.database === database ? [round] : []));
      for (const level of LEVELS.slice(0, 2)) {
        if (rounds.some((round) => round.level === level && round.allowed.length > 0)) continue;
        this.failures.push(`${database} at ${level} showed no anomaly that the level allows`);
      }
      for (const [level, name] of [
        ['read committed', 'phantom (P3)'],
        ['repeatable read', 'write skew by predicate (G2)'],
      ]) {
        if (rounds.some((round) => round.level === level && round.allowed.some((one) => one.name === name))) continue;
        this.failures.push(`${database} at ${level} showed no ${name}`);
      }
      if (!rounds.some((round) => countOf(round, 'unknown') > 0))
        this.failures.push(`${database}: no outcome was unknown`);
    }
    const killed = this.#rounds.flatMap(({ round }) => (round.kills > 0 ? [round] : []));
    if (!killed.some((round) => countOf(round, 'unknown') > 0)) this.failures.push('No process was killed at a COMMIT');
  }

  text() {
    const tables = [this.#levels(false), this.#levels(true), this.#kills(), this.#kinds(), this.#found()];
    return tables.map((table) => `\n${table}`).join('\n');
  }

  /** @param {boolean} faults */
  #levels(faults) {
    const rounds = this.#rounds.filter(({ round }) => round.faults === faults && round.kills === 0);
    const rows = Array.from(
      Map.groupBy(rounds, ({ subject }) => subject),
      ([subject, played]) => {
        const all = played.map(({ round }) => round);
        const allowed = LEVELS.map((level) =>
          String(
            sum(
              all.filter((round) => round.level === level),
              ({ allowed: { length } }) => length,
            ),
          ),
        );
        const forbidden = String(sum(all, ({ forbidden: { length } }) => length));
        return [
          subject.database,
          `${subject.name}${subject.isControl ? ', without Ambit' : ''}`,
          String(sum(all, (round) => countOf(round, 'committed'))),
          String(sum(all, (round) => countOf(round, 'rolled back'))),
          ...(faults
            ? [String(sum(all, ({ broken }) => broken)), String(sum(all, (round) => countOf(round, 'unknown')))]
            : []),
          sum(all, ({ seconds }) => seconds).toFixed(1),
          ...allowed,
          forbidden,
        ];
      },
    );
    const broken = faults ? ['COMMITs cut', 'unknown'] : [];
    const allowed = LEVELS.map((level) => `allowed, ${level}`);
    return tableOf(
      ['database', 'through', 'committed', 'rolled back', ...broken, 'seconds', ...allowed, 'forbidden'],
      rows,
    );
  }

  /** What is left of processes that were killed. */
  #kills() {
    const rounds = this.#rounds.filter(({ round }) => round.kills > 0);
    const rows = Array.from(
      Map.groupBy(rounds, ({ subject }) => subject),
      ([subject, played]) => {
        const all = played.map(({ round }) => round);
        return [
          `${subject.name}${subject.isControl ? ', without Ambit' : ''}`,
          String(all.length),
          String(sum(all, ({ kills }) => kills)),
          String(sum(all, (round) => countOf(round, 'committed'))),
          String(sum(all, (round) => countOf(round, 'unknown'))),
          String(sum(all, storedUnknown)),
          String(sum(all, ({ forbidden: { length } }) => length)),
        ];
      },
    );
    return tableOf(
      ['through', 'rounds', 'processes killed', 'acknowledged', 'not acknowledged', 'of these stored', 'forbidden'],
      rows,
    );
  }

  /** What was seen at each level, through our pools and through the plain drivers. */
  #kinds() {
    const rows = /** @type {DatabaseName[]} */ (Object.keys(KEEPS)).flatMap((database) =>
      LEVELS.map((level) => {
        const cells = [false, true].map((isControl) => {
          const rounds = this.#rounds.filter(
            ({ subject, round }) =>
              subject.isControl === isControl && round.database === database && round.level === level,
          );
          return namesOf(rounds.flatMap(({ round }) => [...round.forbidden, ...round.allowed]));
        });
        return [database, level, KEEPS[database][level], ...cells];
      }),
    );
    return tableOf(['database', 'level', 'what it keeps', 'seen through Ambit', 'seen through the plain driver'], rows);
  }

  #found() {
    const rows = this.#mutants.map(({ name, database, level, as = 'not found', after, seconds = 0 }) => [
      name,
      database,
      level,
      as,
      String(after),
      seconds.toFixed(1),
    ]);
    return tableOf(['what is wrong', 'database', 'level', 'found as', 'after transactions', 'seconds'], rows);
  }
}

/** @param {Round} round @param {string} outcome */
function countOf({ history }, outcome) {
  return history.filter((one) => one.outcome === outcome && !one.name.startsWith('all')).length;
}

/** How many of unknown outcome are stored: something of them is in the last reads. @param {Round} round */
function storedUnknown({ history }) {
  const stored = new Set(
    history.flatMap(({ name, operations }) =>
      name === 'all' ? operations.flatMap((one) => ('elements' in one ? one.elements : [])) : [],
    ),
  );
  /** @param {import('@ambit/host-contract').Operation} one @returns {boolean} */
  const isStored = (one) =>
    'element' in one ? stored.has(one.element) : 'operations' in one && one.operations.some(isStored);
  return history.filter(({ outcome, operations }) => outcome === 'unknown' && operations.some(isStored)).length;
}

/** @template T @param {readonly T[]} list @param {(one: T) => number} of */
function sum(list, of) {
  return list.reduce((all, one) => all + of(one), 0);
}

/** @param {readonly { name: string }[]} anomalies */
function namesOf(anomalies) {
  const groups = Array.from(Map.groupBy(anomalies, ({ name }) => name));
  return groups.map(([name, { length }]) => `${length} × ${name}`).join(', ') || 'nothing';
}

/** @param {readonly string[]} columns @param {readonly (readonly string[])[]} rows */
function tableOf(columns, rows) {
  const lines = [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return lines.join('\n');
}
