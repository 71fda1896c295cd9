// @ts-check
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { anomaliesOf, Chance, FORBIDDEN } from '@ambit/test-kit';
import { behindFaults, DATABASES } from './databases.mjs';
import { keysFor, rowKey } from './plans.mjs';

/**
 * @typedef {import('@ambit/test-kit').RecordedTransaction} RecordedTransaction
 * @typedef {import('@ambit/test-kit').Anomaly} Anomaly
 * @typedef {import('./databases.mjs').DatabaseName} DatabaseName
 * @typedef {import('./subjects.mjs').IsolationLevel} IsolationLevel
 * @typedef {import('./worker.mjs').Task} Task
 * @typedef {import('./worker.mjs').Finished} Finished
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
  // One transaction after the other.
  PGlite: {
    'read committed': 'strict serializable',
    'repeatable read': 'strict serializable',
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
 * @property {boolean} faults
 * @property {number} kills processes that were killed
 * @property {number} seed
 * @property {RecordedTransaction[]} history
 * @property {string[]} errors
 * @property {Anomaly[]} allowed
 * @property {Anomaly[]} forbidden
 * @property {number} broken COMMITs that the proxy has cut
 * @property {number} seconds
 */

/** Two processes that play one round after the other, each on an empty database. PGlite is for one process. */
export class Rounds {
  #folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  /** @type {import('node:child_process').ChildProcess[]} */
  #workers = [];
  /** @type {Map<DatabaseName, import('./databases.mjs').Database>} */
  #databases = new Map();

  /**
   * @param {object} options
   * @param {import('./subjects.mjs').SubjectName} options.subject
   * @param {IsolationLevel} options.level
   * @param {number} options.transactions
   * @param {number} options.seed
   * @param {boolean} [options.faults] connections break
   * @param {number} [options.kills] so many processes are killed while they work
   * @returns {Promise<Round>}
   */
  async play({ subject, level, transactions, seed, faults = false, kills = 0 }) {
    const database = await this.#database(subject.database);
    const keys = keysFor(transactions);
    await database.reset(keys);
    const proxy = faults ? await behindFaults(database, new Chance(seed).next) : undefined;
    const address = proxy?.address ?? database.address;
    const processes = subject.database === 'PGlite' ? 1 : 2;
    const workers = await this.#runningWorkers(processes);
    const start = performance.now();
    const stopKilling = faults ? kill(database) : undefined;
    const task = { subject: subject.name, address, isolation: level, seed, transactions, processes };
    const chance = new Chance(seed * 1_000_003);
    const finished = await Promise.all(
      workers.map((worker, process) => {
        const journal = this.#journal(process);
        writeFileSync(journal, '');
        // A process that is not killed writes about twice as many bytes.
        const killAfter = process < kills ? chance.below(transactions * 150) : undefined;
        return run(worker, { ...task, process, journal }, killAfter);
      }),
    );
    const seconds = (performance.now() - start) / 1000;
    await stopKilling?.();
    // A server may still be busy with a COMMIT whose client was cut off.
    while (database.isQuiet && !(await database.isQuiet())) await setTimeout(10);
    const history = workers.flatMap((_, process) => readJournal(this.#journal(process)));
    for (const name of ['all', 'all again']) history.push(await readAll(database, name, keys));
    await proxy?.close();
    const forbidden = FORBIDDEN[KEEPS[subject.database][level]];
    const anomalies = anomaliesOf(history);
    return {
      subject: subject.name,
      database: subject.database,
      level,
      faults,
      kills: workers.filter(({ signalCode }) => signalCode === 'SIGKILL').length,
      seed,
      history,
      errors: finished.flatMap(({ errors }) => errors),
      allowed: anomalies.filter(({ name }) => !forbidden.has(name)),
      forbidden: anomalies.filter(({ name }) => forbidden.has(name)),
      broken: proxy?.broken() ?? 0,
      seconds,
    };
  }

  async close() {
    for (const worker of this.#workers) worker.kill();
    for (const database of this.#databases.values()) await database.drop();
    rmSync(this.#folder, { recursive: true });
  }

  /** @param {number} process */
  #journal(process) {
    return join(this.#folder, `${process}.jsonl`);
  }

  /** @param {number} count */
  async #runningWorkers(count) {
    const running = this.#workers.filter(({ signalCode }) => signalCode === null);
    const started = await Promise.all(Array.from({ length: Math.max(0, count - running.length) }, startWorker));
    this.#workers = [...running, ...started];
    return this.#workers.slice(0, count);
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
 * @param {number} [killAfter] so many bytes of its journal, if it gets that far
 * @returns {Promise<Finished>}
 */
function run(worker, task, killAfter) {
  return new Promise((resolve, reject) => {
    const watching =
      killAfter === undefined
        ? undefined
        : setInterval(() => {
            if (statSync(task.journal).size > killAfter) worker.kill('SIGKILL');
          }, 1);
    /** @param {number | null} code @param {string | null} signal */
    const exited = (code, signal) => {
      clearInterval(watching);
      if (signal === 'SIGKILL') resolve({ errors: [] });
      else reject(new Error(`A worker exited with ${code}`));
    };
    worker.once('exit', exited);
    worker.once('message', (finished) => {
      if (worker.killed) return;
      clearInterval(watching);
      worker.off('exit', exited);
      resolve(/** @type {Finished} */ (finished));
    });
    worker.send(task);
  });
}

/** @param {string} path @returns {RecordedTransaction[]} */
function readJournal(path) {
  // Behind the last line break is nothing, or what a process could not finish.
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  const attempts = lines.map(
    (line) => /** @type {RecordedTransaction & { finished: number | null }} */ (JSON.parse(line)),
  );
  const newest = new Map(attempts.map((attempt) => [attempt.name, attempt]));
  return Array.from(newest.values(), (attempt) => ({ ...attempt, finished: attempt.finished ?? Infinity }));
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
 * @param {readonly number[]} keys
 * @returns {Promise<RecordedTransaction>}
 */
async function readAll(database, name, keys) {
  const began = Number(process.hrtime.bigint());
  const { lists, members } = await database.readAll();
  /** @type {import('@ambit/test-kit').Operation[]} */
  const operations = lists.map(({ k, items }) => ({
    kind: 'read',
    key: String(k),
    elements: items.split(',').filter(Boolean).map(Number),
  }));
  for (const key of keys) {
    const elements = members.flatMap(({ element, k }) => (k === key ? [element] : []));
    operations.push({ kind: 'select', keys: [rowKey(key)], elements });
  }
  return { name, outcome: 'committed', began, finished: Number(process.hrtime.bigint()), operations };
}
