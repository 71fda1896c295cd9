import { setTimeout as pause } from 'node:timers/promises';
import { createOutbox } from '@ambit/outbox';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { join } from 'node:path';
import { oneOf } from './random.mjs';

/** @type {readonly [string, ...string[]]} */
const KEYS = ['cart 1', 'cart 2', 'cart 3', 'cart 4', 'cart 5'];
/** On SQLite a transaction has the file for itself, and the service needs it, too. */
const WRITERS = { postgres: 6, sqlite: 1 };
const ROLLED_BACK = 0.2;
const BETWEEN_MS = 100;

/** @typedef {import('./database.mjs').Database} Database */

/**
 * Transactions that publish one step each of a few keys to the service's outbox, and then count it: the events of the
 * service have a key each, so they alone would not show the order. A step is published before its number is known, so what
 * the receiver gets is compared with what was committed.
 */
export class Steps {
  rolledBack = 0;
  #pool;
  #writers;
  #outbox;

  /** @param {Database} database */
  constructor(database) {
    const { DATABASE_URL: url = '', DATA_DIR: folder = '' } = database.env;
    const dialect = database.kind;
    this.#writers = WRITERS[dialect];
    this.#pool =
      dialect === 'postgres'
        ? createPostgresPool({ connectionString: url, max: WRITERS.postgres })
        : createSqlitePool({ path: join(folder, 'ambit.db') });
    this.#outbox = createOutbox(this.#pool, { dialect });
  }

  async prepare() {
    await this.#pool.query('CREATE TABLE steps (key text, number integer, mark text, PRIMARY KEY (key, number))');
    await this.#pool.query('CREATE TABLE step_counts (key text PRIMARY KEY, number integer NOT NULL)');
    for (const key of KEYS) await this.#pool.query('INSERT INTO step_counts VALUES ($1, 0)', [key]);
  }

  /** @param {AbortSignal} over */
  async write(over) {
    let count = 0;
    const writer = async () => {
      while (!over.aborted) {
        await this.#step(oneOf(KEYS), `step ${++count}`);
        await pause(Math.random() * BETWEEN_MS);
      }
    };
    await Promise.all(Array.from({ length: this.#writers }, writer));
  }

  /**
   * @param {string} key
   * @param {string} mark
   */
  async #step(key, mark) {
    const undo = Math.random() < ROLLED_BACK;
    const connection = await this.#pool.getConnection();
    try {
      await connection.beginTransaction();
      await this.#outbox.publish(connection, { topic: 'step', key, payload: { mark } });
      await pause(Math.random() * 5);
      await connection.query('UPDATE step_counts SET number = number + 1 WHERE key = $1', [key]);
      await connection.query('INSERT INTO steps SELECT key, number, $2 FROM step_counts WHERE key = $1', [key, mark]);
      if (undo) await connection.rollback();
      else await connection.commit();
      if (undo) this.rolledBack++;
      connection.release();
    } catch (error) {
      connection.release(true);
      throw error;
    }
  }

  /** @returns {Promise<Map<string, string[]>>} the marks of each key, in the order of COMMIT */
  async committed() {
    const rows = await this.#pool.query('SELECT key, mark FROM steps ORDER BY key, number');
    return groups(rows);
  }

  close() {
    return this.#pool.close();
  }
}

/** @param {Record<string, unknown>[]} rows */
function groups(rows) {
  /** @type {Map<string, string[]>} */
  const marks = new Map();
  for (const { key, mark } of rows) marks.set(String(key), [...(marks.get(String(key)) ?? []), String(mark)]);
  return marks;
}
