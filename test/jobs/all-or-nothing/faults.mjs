/**
 * @typedef {{ at: number, target: 'server' | 'backend', moment: 'before' | 'during' | 'after' }} Fault
 * @typedef {import('@ambit/transaction').IDatabasePool} IDatabasePool
 * @typedef {import('@ambit/transaction').IPooledConnection} IPooledConnection
 */
import { executeOn } from '@ambit/transaction/extension';

export const TARGETS = /** @type {const} */ (['server', 'backend']);
export const MOMENTS = /** @type {const} */ (['before', 'during', 'after']);

/** A pool whose next transaction is disturbed at one of its statements, BEGIN and COMMIT included. */
export class DisturbedPool {
  /** @type {string[]} */
  statements = [];
  /** @type {Fault | undefined} */
  #fault;
  #pool;
  #terminate;

  /**
   * @param {IDatabasePool} pool
   * @param {(pid: number) => Promise<unknown>} terminate
   */
  constructor(pool, terminate) {
    this.#pool = pool;
    this.#terminate = terminate;
  }

  /** @param {Fault | undefined} fault */
  arm(fault) {
    this.#fault = fault;
    this.statements = [];
  }

  /** @param {import('@ambit/transaction').AcquireOptions} [options] */
  async getConnection(options) {
    const connection = await this.#pool.getConnection(options);
    const [row] = await connection.query('SELECT pg_backend_pid() AS pid');
    return this.#disturbed(connection, Number(row?.['pid']));
  }

  /**
   * @param {string} sql
   * @param {unknown[]} [params]
   */
  query(sql, params) {
    return this.#pool.query(sql, params);
  }

  /**
   * @param {string} sql
   * @param {unknown[]} [params]
   * @param {import('@ambit/transaction').ExecuteOptions} [options]
   */
  execute(sql, params, options) {
    return executeOn(this.#pool, sql, params, options);
  }

  close() {
    return this.#pool.close();
  }

  /**
   * @param {IPooledConnection} connection
   * @param {number} pid
   * @returns {IPooledConnection}
   */
  #disturbed(connection, pid) {
    /** @type {<T>(name: string, send: () => Promise<T>) => Promise<T>} */
    const step = (name, send) => this.#step(name, pid, send);
    return {
      beginTransaction: (options) => step('BEGIN', () => connection.beginTransaction(options)),
      commit: () => step('COMMIT', () => connection.commit()),
      rollback: () => connection.rollback(),
      query: (sql, params) => step(nameOf(sql), () => connection.query(sql, params)),
      execute: (sql, params, options) => step(nameOf(sql), () => executeOn(connection, sql, params, options)),
      release: (destroy) => connection.release(destroy),
      cancel: () => connection.cancel?.(),
    };
  }

  /**
   * @template T
   * @param {string} name
   * @param {number} pid
   * @param {() => Promise<T>} send
   * @returns {Promise<T>}
   */
  async #step(name, pid, send) {
    this.statements.push(name);
    const fault = this.#fault;
    if (this.statements.length !== fault?.at) return send();
    const disturb = () => (fault.target === 'server' ? killMyself() : this.#terminate(pid));
    if (fault.moment === 'before') await disturb();
    const response = send();
    if (fault.moment === 'during') await Promise.all([disturb(), response]);
    const result = await response;
    if (fault.moment === 'after') await disturb();
    return result;
  }
}

/** @param {string} sql */
function nameOf(sql) {
  return sql
    .replaceAll(/["\s]+/g, ' ')
    .trim()
    .split(' ')
    .slice(0, 3)
    .join(' ');
}

/** Never settles: the process exits. */
function killMyself() {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}
