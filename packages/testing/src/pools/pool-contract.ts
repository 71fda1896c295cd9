import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { meansTheSameAfterMigrations } from './after-migrations.js';
import { beginWaitsContract } from './contract/begin-waits.js';
import { connectionContract } from './contract/connections.js';
import { executeContract } from './contract/execute.js';
import { propagationContract } from './contract/propagation.js';
import { statementContract } from './contract/statements.js';
import type { PoolSuite } from './contract/suite.js';
import { terminatedContract } from './contract/terminated.js';
import { transactionContract } from './contract/transactions.js';
import { inheritsNothing, type Leftover, type SharedDatabase } from './inherits-nothing.js';

/** How a test asks for a pool; what is not given is up to you. */
export interface PoolOptions {
  /** How many connections it opens at most. */
  readonly max?: number;
  /** The time that a caller waits for a connection. */
  readonly acquireTimeoutMs?: number;
  /** The number of callers that may wait. */
  readonly maxWaiting?: number;
  /** The time that `close()` waits for connections that are checked out. */
  readonly closeTimeoutMs?: number;
}

/** A database of a test's own: empty, and removed by `drop()`. */
export interface PoolsToTest extends SharedDatabase {
  /** Closes its pools, and removes it. */
  drop(): Promise<void>;
}

/** A database and a driver, and what they can do. */
export interface ContractDatabase {
  /** Its name in the titles of tests. */
  readonly name: string;
  /** True if its tests are skipped, because no server is there. */
  readonly missing?: boolean;
  /**
   * Opens an empty database. Each test has one of its own.
   *
   * @returns the database, which the test drops
   */
  open(): Promise<PoolsToTest>;
  /** One file with one lock to write: a BEGIN waits while another pool of the same database writes. */
  readonly beginWaits?: boolean;
  /** Several of its transactions write at a time, and may wait for each other. */
  readonly hasSeveralWriters?: boolean;
  /** Its pools have one connection, for reads as well. */
  readonly hasOneConnection?: boolean;
  /** A PostgreSQL server, which terminates a session that is idle in a transaction for too long. */
  readonly terminates?: boolean;
  /** True for PostgreSQL, which finds the types of parameters when it parses a statement. */
  readonly isPostgres?: boolean;
  /** Everything that a user of a connection could leave for the next one. */
  readonly leftovers?: readonly Leftover[];
  /** The driver's pool may have users besides ours: `elsewhere()` is one. */
  readonly hasOtherUsers?: boolean;
  /** How a COMMIT can be made to fail. Default: by a constraint that is deferred; nothing where none can. */
  readonly refusedCommit?: RefusedCommit | undefined;
  /** The guarantees that it lacks: the title of each test, which is then expected to fail, and what happens instead. */
  readonly cannot?: Readonly<Record<string, string>>;
}

/** How a database can be made to refuse a COMMIT: by a constraint that it checks then, or only by losing the connection. */
export type RefusedCommit = 'deferred constraint' | 'killed connection';

/** Adds a test that a database may be expected to fail. */
export type AddPoolTest = (title: string, run: (database: PoolsToTest) => Promise<void>) => void;

/**
 * Adds the tests of what every pool guarantees, whichever database and driver it is over, for vitest.
 *
 * @param kind - opens pools on an empty database for each test, and says what it cannot guarantee
 * @param alone - adds further tests to the same suite
 *
 * @example
 * ```ts
 * import { type ContractDatabase, poolContract } from '@ambit/testing/pools';
 *
 * declare const myDatabase: ContractDatabase;
 * poolContract(myDatabase);
 * ```
 */
export function poolContract(
  kind: ContractDatabase,
  alone: (add: AddPoolTest, refusedCommit: RefusedCommit | undefined) => void = () => undefined,
): void {
  const { name: over, missing = false, isPostgres = false, leftovers = [], hasOtherUsers = false, cannot = {} } = kind;
  const refusedCommit = 'refusedCommit' in kind ? kind.refusedCommit : 'deferred constraint';
  describe.skipIf(missing)(`a pool over ${over} keeps its guarantees`, () => {
    const titles = new Set<string>();
    const keeps = (title: string): typeof test => {
      titles.add(title);
      return (title in cannot ? test.fails : test) as typeof test;
    };
    const suite: PoolSuite = {
      kind,
      it: (title, run) => keeps(title)(title, run),
      each: (title, cases, run) => keeps(title).for(cases)(title, run),
      bodies: async () => {
        const rows = await suite.pool.query<{ body: string }>('SELECT body FROM notes ORDER BY id');
        return rows.map(({ body }) => body);
      },
      begin: async () => {
        const connection = await suite.pool.getConnection();
        await connection.beginTransaction();
        return connection;
      },
      commit: (connection) => connection.commit().finally(() => connection.release()),
      rollback: (connection) => connection.rollback().finally(() => connection.release()),
      database: undefined as never,
      pool: undefined as never,
    };

    beforeEach(async () => {
      suite.database = await kind.open();
      suite.pool = await suite.database.pool({ max: 1 });
      await suite.pool.query('CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT UNIQUE, weight DOUBLE PRECISION)');
    });
    afterEach(() => suite.database.drop());

    statementContract(suite);
    executeContract(suite);
    transactionContract(suite);
    connectionContract(suite);
    beginWaitsContract(suite);
    if (kind.terminates) terminatedContract(suite);
    propagationContract(suite);

    describe.each(isPostgres ? ['the same'] : [])('means %s on every connection', () => {
      meansTheSameAfterMigrations(suite.it, () => suite.database);
    });

    describe.each(leftovers.length > 0 || hasOtherUsers ? ['nothing'] : [])('inherits %s', () => {
      inheritsNothing(suite.it, () => suite.database, { leftovers, hasOtherUsers });
    });

    alone((title, run) => suite.it(title, () => run(suite.database)), refusedCommit);

    test('declares only what it lacks', () => {
      expect([...titles]).toEqual(expect.arrayContaining(Object.keys(cannot)));
    });
  });
}
