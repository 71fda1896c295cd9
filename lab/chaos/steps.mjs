import { setTimeout as pause } from 'node:timers/promises';
import { createOutbox } from '@ambit/outbox';
import { isRetryable } from '@ambit/transaction';
import { oneOf } from '../kit/random.mjs';

/** @type {readonly [string, ...string[]]} */
const KEYS = ['cart 1', 'cart 2', 'cart 3', 'cart 4', 'cart 5'];
const WRITERS = 6;
const ROLLED_BACK = 0.2;
const BETWEEN_MS = 100;

/** @typedef {import('../kit/databases.mjs').Database} Database */

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
    // Where one writes at a time, the service needs its turns, too.
    this.#writers = database.isEmbedded ? 1 : WRITERS;
    this.#pool = database.createPool(WRITERS);
    this.#outbox = createOutbox(this.#pool, { dialect: database.kind });
  }

  async prepare() {
    await this.#pool.query(
      'CREATE TABLE steps (cart varchar(20), number integer, mark varchar(40), PRIMARY KEY (cart, number))',
    );
    await this.#pool.query('CREATE TABLE step_counts (cart varchar(20) PRIMARY KEY, number integer NOT NULL)');
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
      await connection.query('UPDATE step_counts SET number = number + 1 WHERE cart = $1', [key]);
      await connection.query('INSERT INTO steps SELECT cart, number, $2 FROM step_counts WHERE cart = $1', [key, mark]);
      if (undo) await connection.rollback();
      else await connection.commit();
      if (undo) this.rolledBack++;
      connection.release();
    } catch (error) {
      connection.release(true);
      // Who waits for the first transaction of a key meets a deadlock on MariaDB when that is rolled back.
      if (!isRetryable(error)) throw error;
      this.rolledBack++;
    }
  }

  /** @returns {Promise<Map<string, string[]>>} the marks of each key, in the order of COMMIT */
  async committed() {
    const rows = await this.#pool.query('SELECT cart, mark FROM steps ORDER BY cart, number');
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
  for (const { cart, mark } of rows) marks.set(String(cart), [...(marks.get(String(cart)) ?? []), String(mark)]);
  return marks;
}
