// @ts-check
import { fork } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { anomaliesOf, Chance, FORBIDDEN } from '@ambit/host-contract';
import { behindFaults, DATABASES } from './databases.mjs';
import { keysFor } from './plans.mjs';

/**
 * @typedef {import('@ambit/host-contract').RecordedTransaction} RecordedTransaction
 * @typedef {import('@ambit/host-contract').Anomaly} Anomaly
 * @typedef {import('./databases.mjs').DatabaseName} DatabaseName
 * @typedef {import('./subjects.mjs').IsolationLevel} IsolationLevel
 * @typedef {import('./worker.mjs').Task} Task
 * @typedef {import('./worker.mjs').Recorded} Recorded
 */

/** @type {readonly IsolationLevel[]} */
export const LEVELS = ['read committed', 'repeatable read', 'serializable'];

/** What a database keeps where a level is asked for. SQLite has one level. @type {Record<DatabaseName, Record<IsolationLevel, keyof typeof FORBIDDEN>>} */
export const KEEPS = {
  PostgreSQL: {
    'read committed': 'read committed',
    'repeatable read': 'snapshot isolation',
    serializable: 'strict serializable',
  },
  SQLite: {
    'read committed': 'strict serializable',
    'repeatable read': 'strict serializable',
    serializable: 'strict serializable',
  },
  MariaDB: {
    'read committed': 'read committed',
    'repeatable read': "InnoDB's repeatable read",
    serializable: 'strict serializable',
  },
};

/**
 * @typedef {object} Round
 * @property {string} subject
 * @property {DatabaseName} database
 * @property {IsolationLevel} level
 * @property {string | undefined} mutant
 * @property {boolean} faults
 * @property {number} seed
 * @property {RecordedTransaction[]} history
 * @property {string[]} errors
 * @property {Anomaly[]} allowed
 * @property {Anomaly[]} forbidden
 * @property {number} broken COMMITs that the proxy has cut
 * @property {number} seconds
 */

/** Two processes that play one round after the other, each on an empty database. */
export class Rounds {
  /** @type {Promise<import('node:child_process').ChildProcess[]>} */
  #workers = Promise.all([0, 1].map(startWorker));
  /** @type {Map<DatabaseName, import('./databases.mjs').Database>} */
  #databases = new Map();

  /**
   * @param {{ subject: import('./subjects.mjs').SubjectName, level: IsolationLevel, transactions: number, seed: number, mutant?: string, faults?: boolean }} options
   * @returns {Promise<Round>}
   */
  async play({ subject, level, transactions, seed, mutant, faults = false }) {
    const database = await this.#database(subject.database);
    const keys = keysFor(transactions);
    await database.reset(keys);
    const proxy = faults ? await behindFaults(database, new Chance(seed).next) : undefined;
    const address = proxy?.address ?? database.address;
    const workers = await this.#workers;
    const start = performance.now();
    const stopKilling = faults ? kill(database) : undefined;
    const task = { subject: subject.name, address, isolation: level, mutant, seed, transactions };
    const recorded = await Promise.all(workers.map((worker, process) => run(worker, { ...task, process })));
    const seconds = (performance.now() - start) / 1000;
    await stopKilling?.();
    // A server may still be busy with a COMMIT whose client was cut off.
    while (database.isQuiet && !(await database.isQuiet())) await setTimeout(10);
    const history = recorded.flatMap((part) => part.history);
    history.push(await readAll(database, 'all'), await readAll(database, 'all again'));
    await proxy?.close();
    const forbidden = FORBIDDEN[KEEPS[subject.database][level]];
    const anomalies = anomaliesOf(history);
    return {
      subject: subject.name,
      database: subject.database,
      level,
      mutant,
      faults,
      seed,
      history,
      errors: recorded.flatMap((part) => part.errors),
      allowed: anomalies.filter(({ name }) => !forbidden.has(name)),
      forbidden: anomalies.filter(({ name }) => forbidden.has(name)),
      broken: proxy?.broken() ?? 0,
      seconds,
    };
  }

  async close() {
    for (const worker of await this.#workers) worker.kill();
    for (const database of this.#databases.values()) await database.drop();
  }

  /** @param {DatabaseName} name */
  async #database(name) {
    const database = this.#databases.get(name) ?? (await DATABASES[name]());
    this.#databases.set(name, database);
    return database;
  }
}

/** @returns {Promise<import('node:child_process').ChildProcess>} */
function startWorker() {
  const worker = fork(new URL('worker.mjs', import.meta.url), { serialization: 'advanced' });
  return new Promise((resolve, reject) => {
    worker.once('message', () => resolve(worker));
    worker.once('exit', (code) => reject(new Error(`A worker exited with ${code}`)));
  });
}

/**
 * @param {import('node:child_process').ChildProcess} worker
 * @param {Task} task
 * @returns {Promise<Recorded>}
 */
function run(worker, task) {
  return new Promise((resolve, reject) => {
    const exited = (/** @type {number | null} */ code) => reject(new Error(`A worker exited with ${code}`));
    worker.once('exit', exited);
    worker.once('message', (recorded) => {
      worker.off('exit', exited);
      resolve(/** @type {Recorded} */ (recorded));
    });
    worker.send(task);
  });
}

/** Ends one session after another, until it is stopped. @param {import('./databases.mjs').Database} database */
function kill(database) {
  const state = { isStopped: false };
  const killing = (async () => {
    while (!state.isStopped) {
      await setTimeout(30);
      await database.kill?.();
    }
  })();
  return () => {
    state.isStopped = true;
    return killing;
  };
}

/**
 * @param {import('./databases.mjs').Database} database
 * @param {string} name
 * @returns {Promise<RecordedTransaction>}
 */
async function readAll(database, name) {
  const began = Number(process.hrtime.bigint());
  const lists = await database.readAll();
  const operations = Array.from(lists, ([key, items]) => ({
    kind: /** @type {const} */ ('read'),
    key: String(key),
    elements: items.split(',').filter(Boolean).map(Number),
  }));
  return { name, outcome: 'committed', began, finished: Number(process.hrtime.bigint()), operations };
}
