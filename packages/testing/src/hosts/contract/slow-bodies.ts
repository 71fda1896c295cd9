import type { TransactionOptions } from '@ambit/transaction';
import { transactionOf } from '@ambit/transaction';
import { describe, expect } from 'vitest';
import type { RawClient } from '../../tools.js';
import type { Call, Reply } from '../host.js';
import { type Stage, CREATED } from '../stage.js';
import type { StageTest } from '../stage-test.js';

/** Uploads that take their time, on a route whose transaction is there before the body is. */
export function slowBodyContract(test: StageTest): void {
  /** Serves an order whose handler reads the body first, and sends half of one. */
  async function startUpload(
    stage: Stage,
    { transaction = {}, store = stage.createOrder }: Upload = {},
  ): Promise<RawClient> {
    let reads = false;
    const handle = async (call: Call): Promise<Reply> => {
      reads = true;
      stage.happenings.tell();
      expect(await call.readBody()).toBe('all of it');
      return store(call);
    };
    await stage.serveOrder(handle, { transaction });
    const client = await stage.client();
    client.write(
      'POST /orders HTTP/1.1\r\nhost: test\r\ncontent-type: application/octet-stream\r\ncontent-length: 9\r\n\r\nall ',
    );
    await stage.happenings.until(() => reads, 'the handler reads the body');
    return client;
  }

  describe('while the body of a request is still coming', () => {
    test('its transaction holds no connection, and begins with its first statement', async ({ stage }) => {
      const client = await startUpload(stage);
      expect(stage.pool.steps).toEqual([]);
      client.write('of it');
      expect((await client.response()).status).toBe(201);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
      expect(await stage.stored()).toBe(true);
    });

    test("with begin: 'now' it begins at once", async ({ stage }) => {
      const client = await startUpload(stage, { transaction: { begin: 'now' } });
      expect(stage.pool.steps).toEqual(['acquire', 'begin']);
      client.write('of it');
      expect((await client.response()).status).toBe(201);
      await stage.quiet();
    });

    test('a client that leaves has taken no connection', async ({ stage }) => {
      const client = await startUpload(stage);
      client.reset();
      await stage.quiet();
      expect(stage.pool.steps).toEqual([]);
    });
  });

  describe('a transaction that begins with its first statement', () => {
    test('takes no connection where none is sent, and has committed', async ({ stage }) => {
      let outcome: string | undefined;
      const store = async ({ transactionScope }: Call): Promise<Reply> => {
        transactionOf(transactionScope)?.afterEnd((ended) => (outcome = ended));
        return CREATED;
      };
      const client = await startUpload(stage, { store });
      client.write('of it');
      expect((await client.response()).status).toBe(201);
      await stage.quiet();
      expect(outcome).toBe('committed');
      expect(stage.pool.steps).toEqual([]);
    });

    test('is rolled back where the handler fails behind it', async ({ stage }) => {
      const tooLittle = Object.assign(new Error('too little'), { statusCode: 409 });
      const client = await startUpload(stage, { store: stage.orderThen(() => Promise.reject(tooLittle)) });
      client.write('of it');
      expect((await client.response()).status).toBe(409);
      await stage.quiet();
      expect(stage.pool.steps).toContain('rollback');
      expect(await stage.stored()).toBe(false);
    });

    test('is responded to with 503 where no connection comes in time', async ({ stage }) => {
      const client = await startUpload(stage, { transaction: { acquireTimeoutMs: 10 } });
      const returnConnections = await stage.takeAllConnections();
      client.write('of it');
      const response = await client.response();
      returnConnections();
      expect(response.status).toBe(503);
      expect(JSON.parse(response.text)).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT' });
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire']);
    });

    test('stops waiting for a connection when its client leaves', async ({ stage }) => {
      const client = await startUpload(stage, { transaction: { cancelAfterMs: 10 } });
      const returnConnections = await stage.takeAllConnections();
      client.write('of it');
      await stage.pool.reaches('acquire');
      client.reset();
      await stage.nobodyWaits();
      returnConnections();
      expect(stage.pool.steps).toEqual(['acquire']);
    });

    test('is rolled back where BEGIN fails, and its connection is not used again', async ({ stage }) => {
      const client = await startUpload(stage);
      stage.pool.before('begin', () => Promise.reject(new Error('no BEGIN today')));
      client.write('of it');
      const response = await client.response();
      expect(response.status).toBe(500);
      expect(JSON.parse(response.text)).toMatchObject({ code: 'AMBIT_TX_BEGIN_FAILED' });
      await stage.quiet();
      expect(await stage.stored()).toBe(false);
    });
  });
}

interface Upload {
  readonly transaction?: TransactionOptions;
  /** The handler's work, once it has the body. */
  readonly store?: (call: Call) => Promise<Reply>;
}
