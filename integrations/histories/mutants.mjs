// @ts-check
// Pools and sessions that are wrong in one way each. The checker has to find every one of them.
import { setTimeout } from 'node:timers/promises';
import { TransactionError } from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';

/**
 * @typedef {import('@ambit/transaction').IDatabasePool} IDatabasePool
 * @typedef {import('@ambit/transaction').IPooledConnection} IPooledConnection
 * @typedef {import('./databases.mjs').DatabaseName} DatabaseName
 * @typedef {import('./subjects.mjs').Session} Session
 */

/**
 * @typedef {object} Mutant
 * @property {string} name
 * @property {'read committed' | 'repeatable read' | 'serializable'} level at which it is tried
 * @property {readonly DatabaseName[]} databases
 * @property {boolean} [faults] it is wrong only where COMMITs are cut
 * @property {number} [kills] it is wrong only where so many processes are killed
 * @property {string} [as] the anomaly that it has to be found by, where another is easier to find
 * @property {boolean} [byPredicate] it is looked for with inserted and selected rows alone
 * @property {(pool: IDatabasePool) => IDatabasePool} [pool]
 * @property {(session: Session, pool: IDatabasePool) => Session} [session]
 */

/** @type {readonly DatabaseName[]} */
const ALL = ['PostgreSQL', 'PGlite', 'SQLite', 'MariaDB'];
/** @type {readonly DatabaseName[]} */
const SERVERS = ['PostgreSQL', 'MariaDB'];

/**
 * A pool whose connections do something else at some calls.
 *
 * @param {IDatabasePool} pool
 * @param {(connection: IPooledConnection) => Partial<IPooledConnection>} change
 * @returns {IDatabasePool}
 */
function changed(pool, change) {
  return {
    getConnection: async (options) => changedConnection(await pool.getConnection(options), change),
    query: (sql, params) => pool.query(sql, params),
    execute: (sql, params, options) => executeOn(pool, sql, params, options),
    close: () => pool.close(),
  };
}

/**
 * @param {IPooledConnection} connection
 * @param {(connection: IPooledConnection) => Partial<IPooledConnection>} change
 * @returns {IPooledConnection}
 */
function changedConnection(connection, change) {
  return {
    beginTransaction: (options) => connection.beginTransaction(options),
    commit: () => connection.commit(),
    rollback: () => connection.rollback(),
    query: (sql, params) => connection.query(sql, params),
    execute: (sql, params, options) => executeOn(connection, sql, params, options),
    release: (destroy) => connection.release(destroy),
    ...change(connection),
  };
}

/** @param {string} sql */
const isUndo = (sql) => /^rollback to/i.test(sql);

/** What a database says where a retry can help: nothing was stored. */
const refused = () => new TransactionError('AMBIT_TX_COMMIT_FAILED', 'A mutant says so', { sqlState: '40001' });

/**
 * What was not rolled back is given to the next user as it is, and committed with their transaction. Only where no statement has
 * failed: PostgreSQL refuses everything after that.
 *
 * @param {IDatabasePool} pool
 * @returns {IDatabasePool}
 */
function returnedOpen(pool) {
  /** @type {IPooledConnection[]} */
  const open = [];
  return {
    ...changed(pool, () => ({})),
    getConnection: async (options) => {
      const left = open.pop();
      const connection = left ?? (await pool.getConnection(options));
      let hasFailed = false;
      let isLeft = false;
      return changedConnection(connection, () => ({
        // PostgreSQL gives a warning for it.
        beginTransaction: async (terms) => {
          if (!left) await connection.beginTransaction(terms);
        },
        query: async (sql, params) => {
          try {
            return await connection.query(sql, params);
          } catch (error) {
            hasFailed = true;
            throw error;
          }
        },
        rollback: async () => {
          if (hasFailed) await connection.rollback();
          else isLeft = true;
        },
        release: (destroy) => {
          if (isLeft && !destroy) open.push(connection);
          else connection.release(destroy);
        },
      }));
    },
    close: async () => {
      for (const connection of open) connection.release(true);
      await pool.close();
    },
  };
}

/** @param {IDatabasePool} pool @returns {IDatabasePool} */
function commitsLater(pool) {
  return changed(pool, (connection) => {
    /** @type {Promise<unknown>} */
    let committing = Promise.resolve();
    return {
      commit: async () =>
        void (committing = setTimeout(5)
          .then(() => connection.commit())
          .catch(() => undefined)),
      release: (destroy) => void committing.then(() => connection.release(destroy)),
    };
  });
}

/** Transactions get the one connection while another has it. @param {IDatabasePool} pool @returns {IDatabasePool} */
function withoutTurns(pool) {
  /** @type {Promise<IPooledConnection> | undefined} */
  let connecting;
  let users = 0;
  return {
    ...changed(pool, () => ({})),
    getConnection: async (options) => {
      users += 1;
      connecting ??= pool.getConnection(options);
      const connection = await connecting;
      return changedConnection(connection, () => ({
        release: (destroy) => {
          users -= 1;
          if (users > 0) return;
          connecting = undefined;
          connection.release(destroy);
        },
      }));
    },
  };
}

/** @param {IDatabasePool} pool @param {import('./subjects.mjs').IsolationLevel} isolation whatever is asked for @returns {IDatabasePool} */
function beginningWith(pool, isolation) {
  return changed(pool, (connection) => ({
    beginTransaction: (options) => connection.beginTransaction({ ...options, isolation }),
  }));
}

/** @type {readonly Mutant[]} */
export const MUTANTS = [
  {
    name: 'a rollback that commits',
    level: 'serializable',
    databases: ALL,
    pool: (pool) =>
      changed(pool, (connection) => ({ rollback: () => connection.commit().catch(() => connection.rollback()) })),
  },
  {
    name: 'a rollback that is lost, and the connection returned in the open transaction',
    level: 'serializable',
    databases: ['PostgreSQL'],
    pool: returnedOpen,
  },
  {
    name: 'BEGIN without its level: read committed in place of repeatable read',
    level: 'repeatable read',
    databases: SERVERS,
    pool: (pool) => beginningWith(pool, 'read committed'),
  },
  {
    name: 'BEGIN without its level, where there are only predicates: read committed in place of repeatable read',
    level: 'repeatable read',
    databases: SERVERS,
    byPredicate: true,
    pool: (pool) => beginningWith(pool, 'read committed'),
  },
  {
    name: 'BEGIN with a weaker level: repeatable read in place of serializable',
    level: 'serializable',
    databases: SERVERS,
    pool: (pool) => beginningWith(pool, 'repeatable read'),
  },
  {
    name: 'BEGIN with a weaker level, where there are only predicates: repeatable read in place of serializable',
    level: 'serializable',
    databases: SERVERS,
    byPredicate: true,
    pool: (pool) => beginningWith(pool, 'repeatable read'),
  },
  {
    name: 'one connection for two transactions at a time',
    level: 'serializable',
    databases: ['PGlite'],
    pool: withoutTurns,
  },
  {
    name: 'no BEGIN: each statement commits by itself',
    level: 'serializable',
    databases: ALL,
    pool: (pool) =>
      changed(pool, () => ({ beginTransaction: async () => {}, commit: async () => {}, rollback: async () => {} })),
  },
  {
    name: 'a retry after a COMMIT that succeeded',
    level: 'serializable',
    databases: ALL,
    pool: (pool) =>
      changed(pool, (connection) => ({
        commit: async () => {
          await connection.commit();
          if (Math.random() < 0.1) throw refused();
        },
      })),
  },
  {
    name: 'a statement that is sent twice',
    level: 'serializable',
    databases: ALL,
    pool: (pool) =>
      changed(pool, (connection) => ({
        query: async (sql, params) => {
          if (sql.startsWith('UPDATE') && Math.random() < 0.1) await connection.query(sql, params);
          return connection.query(sql, params);
        },
      })),
  },
  {
    name: 'COMMIT is not awaited before it is acknowledged',
    level: 'read committed',
    databases: SERVERS,
    pool: commitsLater,
  },
  {
    name: 'COMMIT is not awaited before it is acknowledged, and the process is killed',
    level: 'serializable',
    databases: ['SQLite'],
    kills: 2,
    as: 'lost write',
    pool: commitsLater,
  },
  {
    name: 'an acknowledged transaction that is never committed',
    level: 'read committed',
    databases: ALL,
    pool: (pool) =>
      changed(pool, (connection) => ({
        commit: () => (Math.random() < 0.05 ? connection.rollback() : connection.commit()),
      })),
  },
  {
    name: 'an unknown outcome that is acknowledged',
    level: 'read committed',
    databases: SERVERS,
    faults: true,
    pool: (pool) => changed(pool, (connection) => ({ commit: () => connection.commit().catch(() => undefined) })),
  },
  {
    name: 'an unknown outcome that is taken for a rollback, and tried again',
    level: 'read committed',
    databases: SERVERS,
    faults: true,
    pool: (pool) =>
      changed(pool, (connection) => ({
        commit: () =>
          connection.commit().catch(() => {
            throw refused();
          }),
      })),
  },
  {
    name: 'a read outside of the transaction, on the pool',
    level: 'read committed',
    databases: SERVERS,
    session: (session, pool) => ({
      ...session,
      read: async (key) => {
        if (Math.random() > 0.1) return session.read(key);
        return String((await pool.query('SELECT items FROM lists WHERE k = $1', [key]))[0]?.['items']);
      },
    }),
  },
  {
    name: 'a write outside of the transaction, on the pool',
    level: 'read committed',
    databases: ['PostgreSQL'],
    session: (session, pool) => {
      // After a write of its own it would wait for its own lock.
      let hasWritten = false;
      return {
        ...session,
        append: (key, text) => {
          const isOutside = !hasWritten && Math.random() < 0.2;
          hasWritten = true;
          if (!isOutside) return session.append(key, text);
          return pool.query('UPDATE lists SET items = items || $1 WHERE k = $2', [text, key]);
        },
        nested: (work) => {
          hasWritten = true;
          return session.nested(work);
        },
      };
    },
  },
  {
    name: 'rows that are kept from one transaction to the next',
    level: 'read committed',
    databases: ALL,
    session: (session) => ({ ...session, read: (key) => kept(key, () => session.read(key)) }),
  },
  {
    name: 'the rollback of a savepoint that is forgotten',
    level: 'read committed',
    databases: ALL,
    pool: (pool) =>
      changed(pool, (connection) => ({
        query: async (sql, params) => (isUndo(sql) ? [] : connection.query(sql, params)),
        execute: async (sql, params, options) =>
          isUndo(sql)
            ? { rows: [], rowCount: null, command: 'ROLLBACK', fields: [] }
            : executeOn(connection, sql, params, options),
      })),
  },
  {
    name: 'a savepoint that is rolled back although its code succeeded',
    level: 'read committed',
    databases: ALL,
    pool: (pool) =>
      changed(pool, (connection) => ({
        query: async (sql, params) => connection.query(sql.replace(/^release /i, 'ROLLBACK TO '), params),
      })),
  },
];

/** @type {Map<number, Promise<string>>} */
const rows = new Map();

/** One in twenty reads is of a row that was read before. @param {number} key @param {() => Promise<string>} read */
function kept(key, read) {
  const known = rows.get(key);
  if (known && Math.random() < 0.05) return known;
  const reading = read();
  reading.then(
    () => rows.set(key, reading),
    () => undefined,
  );
  return reading;
}
