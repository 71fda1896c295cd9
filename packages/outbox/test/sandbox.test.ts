import { Container, Registration, singleton } from '@ambit/container';
import { type IConnection, runInTransaction } from '@ambit/transaction';
import { type Sandbox, sandbox } from '@ambit/transaction/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createOutbox } from '../src/index.js';
import { databases, type OpenDatabase } from './support/databases.js';

describe.each(databases)('in a sandbox on $name', ({ dialect, missing, open }) => {
  describe.skipIf(missing)('an outbox', () => {
    let database: OpenDatabase;
    let box: Sandbox;

    beforeEach(async () => {
      database = await open();
      await createOutbox(database.pool, { dialect }).createTable();
      box = await sandbox(database.pool);
    });
    afterEach(async () => {
      await box.rollback();
      await database.drop();
    });

    test('delivers events once their transaction has committed, and forgets them with the rest', async () => {
      const app = new Container().addRegistration(
        Registration.fromFactory(() => box)
          .pipe(singleton())
          .to('IDatabasePool'),
      );
      const outbox = createOutbox(box, { dialect });
      const publish = (topic: string, fail = false): Promise<void> =>
        runInTransaction(app, async (scope) => {
          await outbox.publish(scope.resolve<IConnection>('IConnection'), { topic, payload: 1 });
          if (fail) throw new Error('wanted');
        });
      await expect(publish('undone', true)).rejects.toThrow('wanted');
      await publish('done');
      const delivered: string[] = [];
      const relay = outbox.relay(({ topic }) => void delivered.push(topic), { keepDeliveredMs: 60_000 });
      relay.start();
      await expect.poll(() => delivered).toEqual(['done']);
      await relay.dispose();
      expect(await box.query('SELECT topic, state FROM outbox')).toEqual([{ topic: 'done', state: 'delivered' }]);
      await box.rollback();
      expect(await database.pool.query('SELECT * FROM outbox')).toEqual([]);
    });
  });
});
