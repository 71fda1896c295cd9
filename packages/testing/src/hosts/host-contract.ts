import { afterAll, beforeAll, describe, test } from 'vitest';
import { type DatabaseKind, sqliteDatabase, type TestDatabase } from './databases.js';
import type { Host } from './host.js';
import { aroundCommitContract } from './contract/around-commit.js';
import { responseContract } from './contract/responses.js';
import { bareErrorResponseContract, problemDetailsContract } from './contract/bare-error-responses.js';
import { clientContract } from './contract/clients.js';
import { databaseFaultContract } from './contract/database-faults.js';
import { disposalContract } from './contract/disposal.js';
import { floodContract } from './contract/floods.js';
import { disconnectContract } from './contract/disconnects.js';
import { heldResponseContract } from './contract/held-responses.js';
import { killContract } from './contract/kills.js';
import { outcomeContract } from './contract/outcomes.js';
import { refusedInputContract } from './contract/refused-input.js';
import { replacedResponseContract } from './contract/replaced-responses.js';
import { currentScopeContract } from './contract/current-scope.js';
import { parentScopeContract } from './contract/parent-scopes.js';
import { requestOptionContract } from './contract/request-options.js';
import { requestScopeContract } from './contract/request-scope.js';
import { connectionCloseContract } from './contract/connection-close.js';
import { wrappedResponseContract } from './contract/wrapped-responses.js';
import { shutdownContract } from './contract/shutdown.js';
import { signalContract } from './contract/signal.js';
import { Stage } from './stage.js';
import { slowBodyContract } from './contract/slow-bodies.js';
import type { StageTest } from './stage-test.js';

/** On which databases the contract of hosts runs, and what is tested besides. */
export interface HostContractOptions {
  /** Default: SQLite, which needs no server. */
  readonly databases?: readonly DatabaseKind[];
  /** Adds tests of what only this host guarantees. */
  readonly alone?: (test: StageTest, database: DatabaseKind) => void;
}

/**
 * Adds the tests of what every host guarantees, for vitest.
 *
 * @param host - starts an application that the tests describe
 * @param options - the databases, and further tests
 *
 * @example
 * ```ts
 * import { type Host, hostContract } from '@ambit/testing/hosts';
 *
 * declare const myHost: Host;
 * hostContract(myHost);
 * ```
 */
export function hostContract(
  host: Host,
  { databases = [sqliteDatabase], alone = () => undefined }: HostContractOptions = {},
): void {
  describe.each(databases)(`on ${host.name} with $name`, (kind) => {
    describe.skipIf(kind.missing)('holds', () => {
      const stageTest = testOn(host, kind);
      requestScopeContract(stageTest);
      currentScopeContract(stageTest);
      parentScopeContract(stageTest);
      requestOptionContract(stageTest);
      signalContract(stageTest);
      disposalContract(stageTest);
      responseContract(stageTest);
      replacedResponseContract(stageTest);
      wrappedResponseContract(stageTest);
      outcomeContract(stageTest);
      aroundCommitContract(stageTest);
      bareErrorResponseContract(stageTest);
      problemDetailsContract(stageTest);
      databaseFaultContract(stageTest);
      killContract(stageTest);
      shutdownContract(stageTest);
      clientContract(stageTest);
      refusedInputContract(stageTest);
      floodContract(stageTest);
      disconnectContract(stageTest);
      slowBodyContract(stageTest);
      connectionCloseContract(stageTest);
      if (host.holdsResponse) heldResponseContract(stageTest);
      alone(stageTest, kind);
    });
  });
}

/** `test` with a stage on one database for all, whose pool must be whole in the end. */
function testOn(host: Host, kind: DatabaseKind): StageTest {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await kind.open();
    await database.pool.query('CREATE TABLE products (id VARCHAR(36) PRIMARY KEY)');
    const deferred = database.defersConstraints ? 'REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED' : '';
    await database.pool.query(`CREATE TABLE orders (id VARCHAR(36) PRIMARY KEY, product VARCHAR(36) ${deferred})`);
  });

  afterAll(async () => {
    const all = await Promise.all(Array.from({ length: database.writers }, () => database.pool.getConnection()));
    for (const connection of all) {
      await connection.beginTransaction();
      await connection.commit();
      connection.release();
    }
    await database.drop();
  });

  return test.extend<{ stage: Stage }>({
    stage: async ({ task, skip }, use) => {
      const title = titleOf(task);
      const exception = host.exceptions?.find((known) => known.test.test(title));
      if (exception) skip(exception.because);
      const stage = new Stage(host, database);
      await use(stage);
      await stage.balance();
    },
  });
}

interface Titled {
  readonly name: string;
  readonly suite?: Titled | undefined;
}

/** `on Hono with SQLite > closing > refuses those who come too late` */
function titleOf({ name, suite }: Titled): string {
  return suite ? `${titleOf(suite)} > ${name}` : name;
}
