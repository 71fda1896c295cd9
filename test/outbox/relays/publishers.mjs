// @ts-check
import { setTimeout as pause } from 'node:timers/promises';
import { createOutbox } from '@ambit/outbox';
import { isRetryable } from '@ambit/transaction';
import { createDatabase } from '../../../lab/kit/databases.mjs';
import { between, oneOf } from '../../../lab/kit/random.mjs';
import { openPool } from './pool.mjs';

/** @type {readonly [string, ...string[]]} */
const KEYS = ['cart 1', 'cart 2', 'cart 3', 'cart 4', 'cart 5', 'cart 6', 'cart 7', 'cart 8'];
const POISONED = 'cart 1';
/** On SQLite a transaction has the file for itself, and the relays need it, too. */
const WRITERS = { postgres: 6, sqlite: 1, mariadb: 6 };
const ROLLED_BACK = 0.2;
const BETWEEN_MS = 40;

/** Transactions that publish one event of a few keys, and then count it: the numbers of a key have the order of COMMIT. */
export class Publishers {
  rolledBack = 0;
  /** @type {string | undefined} the event that no broker takes */
  poison;
  /** What another process needs to open the same database. */
  settings;
  #drop;
  #pool;
  #outbox;

  /** @param {import('./pool.mjs').PoolSettings} settings @param {() => Promise<unknown>} drop */
  constructor(settings, drop) {
    this.settings = settings;
    this.#drop = drop;
    this.#pool = openPool(settings, WRITERS[settings.dialect] + 2);
    this.#outbox = createOutbox(this.#pool, { dialect: settings.dialect });
  }

  /**
   * @param {import('@ambit/outbox').OutboxDialect} dialect
   * @param {boolean} poison whether one event is published that no broker takes
   */
  static async open(dialect, poison) {
    const { address, drop } = await emptyDatabase(dialect);
    const publishers = new Publishers({ dialect, address }, drop);
    await publishers.#prepare();
    if (poison) publishers.poison = await publishers.#publish(POISONED, 'poison', false);
    return publishers;
  }

  async #prepare() {
    await this.#outbox.createTable();
    await this.#pool.query(
      'CREATE TABLE published (cart varchar(20), number integer, id varchar(40), PRIMARY KEY (cart, number))',
    );
    await this.#pool.query('CREATE TABLE counts (cart varchar(20) PRIMARY KEY, number integer NOT NULL)');
    for (const key of KEYS) await this.#pool.query(`INSERT INTO counts VALUES ('${key}', 0)`);
  }

  /** @param {AbortSignal} over */
  async write(over) {
    const writer = async () => {
      while (!over.aborted) {
        await this.#publish(oneOf(KEYS), 'order.created', Math.random() < ROLLED_BACK);
        await pause(between(0, BETWEEN_MS));
      }
    };
    await Promise.all(Array.from({ length: WRITERS[this.settings.dialect] }, writer));
  }

  /**
   * @param {string} key
   * @param {string} topic
   * @param {boolean} undo
   */
  async #publish(key, topic, undo) {
    const connection = await this.#pool.getConnection();
    try {
      await connection.beginTransaction();
      const id = await this.#outbox.publish(connection, { topic, key, payload: { text: 'x'.repeat(between(1, 500)) } });
      await connection.query(`UPDATE counts SET number = number + 1 WHERE cart = '${key}'`);
      await connection.query(`INSERT INTO published SELECT cart, number, '${id}' FROM counts WHERE cart = '${key}'`);
      if (undo) await connection.rollback();
      else await connection.commit();
      if (undo) this.rolledBack += 1;
      connection.release();
      return id;
    } catch (error) {
      connection.release(true);
      if (!isRetryable(error)) throw error;
      this.rolledBack += 1;
      return undefined;
    }
  }

  /** @returns {Promise<{ key: string, number: number, id: string }[]>} in the order of COMMIT per key */
  async committed() {
    const rows = await this.#pool.query('SELECT cart, number, id FROM published ORDER BY cart, number');
    return rows.map(({ cart, number, id }) => ({ key: String(cart), number: Number(number), id: String(id) }));
  }

  async pending() {
    const [row] = await this.#pool.query("SELECT count(*) AS pending FROM outbox WHERE state = 'pending'");
    return Number(row?.['pending']);
  }

  deadLetters() {
    return this.#outbox.deadLetters();
  }

  async close() {
    await this.#pool.close();
    await this.#drop();
  }
}

/**
 * @param {import('@ambit/outbox').OutboxDialect} dialect
 * @returns {Promise<{ address: string, drop: () => Promise<unknown> }>}
 */
async function emptyDatabase(dialect) {
  const { env, drop } = await createDatabase(dialect);
  const { DATABASE_URL: server = '', DATA_DIR: folder = '' } = env;
  const addresses = {
    // This database is not killed: a COMMIT that does not wait for the disk lets more events be published.
    postgres: `${server}?options=-c%20synchronous_commit%3Doff`,
    sqlite: folder,
    mariadb: server.replace(/^mariadb:/, 'mysql:'),
  };
  return { address: addresses[dialect], drop };
}
