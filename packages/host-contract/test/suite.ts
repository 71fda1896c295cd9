import { afterAll, beforeAll, describe, test } from 'vitest';
import { type DatabaseKind, databases, type TestDatabase } from '../src/index.js';
import type { Host } from './hosts/host.js';
import { answerPromises } from './promises/answers.js';
import { bareAnswerPromises } from './promises/bare-answers.js';
import { clientPromises } from './promises/clients.js';
import { containerPromises } from './promises/containers.js';
import { databaseFaultPromises } from './promises/database-faults.js';
import { disposalPromises } from './promises/disposal.js';
import { floodPromises } from './promises/floods.js';
import { gonePromises } from './promises/gone.js';
import { killPromises } from './promises/kills.js';
import { outcomePromises } from './promises/outcomes.js';
import { refusedInputPromises } from './promises/refused-input.js';
import { replacedAnswerPromises } from './promises/replaced-answers.js';
import { requestScopePromises } from './promises/request-scope.js';
import { shutdownPromises } from './promises/shutdown.js';
import { signalPromises } from './promises/signal.js';
import { Stage } from './support/stage.js';
import type { StageTest } from './support/stage-test.js';

/** Everything that both hosts promise, on both databases, and what this one promises `alone`. */
export function describeHostContract(host: Host, alone: (test: StageTest) => void): void {
  describe.each(databases)(`on ${host.name} with $name`, (kind) => {
    describe.skipIf(kind.missing)('holds', () => {
      const stageTest = testOn(host, kind);
      requestScopePromises(stageTest);
      clientPromises(stageTest);
      refusedInputPromises(stageTest);
      floodPromises(stageTest);
      signalPromises(stageTest);
      disposalPromises(stageTest);
      containerPromises(stageTest);
      answerPromises(stageTest);
      replacedAnswerPromises(stageTest);
      outcomePromises(stageTest);
      bareAnswerPromises(stageTest);
      gonePromises(stageTest);
      databaseFaultPromises(stageTest);
      killPromises(stageTest);
      shutdownPromises(stageTest);
      alone(stageTest);
    });
  });
}

/** `test` with a stage on one database for all, whose pool must be whole in the end. */
function testOn(host: Host, kind: DatabaseKind): StageTest {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await kind.open();
    await database.pool.query('CREATE TABLE products (id TEXT PRIMARY KEY)');
    await database.pool.query(
      `CREATE TABLE orders (
        id TEXT PRIMARY KEY,
        product TEXT REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED
      )`,
    );
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
