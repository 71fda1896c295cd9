import type { ServerResponse } from 'node:http';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate, setTimeout as after } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { compress, Pause, saveFirst } from '../../tools.js';
import { CREATED, ORDER, type Stage } from '../stage.js';
import type { StageTest } from '../stage-test.js';
import { expectOneError } from './wrapped-responses.js';

/** The guarantees where handlers respond with a response of `node:http`, which is held back until COMMIT. */
export function heldResponseContract(test: StageTest): void {
  describe('a response that is held back', () => {
    /** Writes rows until its response is complete, without waiting for anybody. */
    const writeRows = async (res: ServerResponse): Promise<void> => {
      while (!res.writableFinished) {
        res.write('a row that is rolled back');
        await setImmediate();
      }
    };

    test.for(['before', 'behind'] as const)(
      'and refused: no row of it is in the error that waits for a session %s the transaction',
      async (where, { stage }) => {
        const routes = [
          {
            method: 'POST' as const,
            path: '/orders',
            transaction: {},
            wrap: { [where]: (res: ServerResponse) => saveFirst(res, () => after(20)) },
            handle: async (call: Parameters<Stage['insertOrder']>[0] & { readonly res?: ServerResponse }) => {
              await stage.insertOrder(call);
              await writeRows(call.res!);
            },
          },
          { method: 'GET' as const, path: '/ping', handle: () => ({ kind: 'text' as const, text: 'pong' }) },
        ];
        await stage.serve(routes);
        await expectOneError(stage);
      },
    );

    test('counts as begun from writeHead() on, and leaves with the head of that moment', async ({ stage }) => {
      const seen: unknown[] = [];
      await stage.serveOrder(async (call) => {
        await stage.insertOrder(call);
        const res = call.res!;
        res.writeHead(201, { 'content-length': 11 });
        seen.push(res.headersSent);
        for (const change of [() => res.setHeader('content-length', 3), () => res.writeHead(200)]) {
          expect(change).toThrow(expect.objectContaining({ code: 'ERR_HTTP_HEADERS_SENT' }));
        }
        res.end('hello world');
      });
      const client = await stage.client();
      expect(await client.request(ORDER)).toMatchObject({
        status: 201,
        headers: { 'content-length': '11' },
        text: 'hello world',
      });
      expect((await client.request({ path: '/ping' })).text).toBe('pong');
      expect(seen).toEqual([true]);
    });

    test('of which only a head has come is replaced when its handler fails', async ({ stage }) => {
      await stage.serveOrder(async (call) => {
        await stage.insertOrder(call);
        call.res!.writeHead(201, { 'content-length': 11, 'content-type': 'text/html' });
        throw new Error('no');
      });
      const client = await stage.client();
      const { status, text } = await client.request(ORDER);
      expect([status, JSON.parse(text)]).toMatchObject([500, { detail: 'Internal error' }]);
      expect((await client.request({ path: '/ping' })).text).toBe('pong');
      expect(await stage.stored()).toBe(false);
    });

    test.for(['before', 'behind'] as const)(
      'and flushed leaves with COMMIT as far as it was flushed, where it is compressed %s the transaction',
      async (where, { stage }) => {
        const pause = new Pause();
        await stage.serve([
          {
            method: 'POST',
            path: '/orders',
            transaction: {},
            wrap: { [where]: (res: ServerResponse) => compress(res, { compressor: () => new Batch() }) },
            handle: async (call) => {
              await stage.insertOrder(call);
              const res = call.res as ServerResponse & { flush(): void };
              res.write('a row');
              res.flush();
              await pause.here();
              res.end(', and another');
            },
          },
        ]);
        const client = await stage.sends(ORDER);
        await client.hears('a row');
        pause.letGo();
        expect((await client.response()).text).toBe('a row, and another');
      },
    );

    /** Pipes more than is kept for a client that does not read. */
    const pipeMuch = async (res: ServerResponse): Promise<void> => {
      await pipeline(Readable.from(Array.from({ length: 100 }, () => 'x'.repeat(1000))), res);
    };
    const lateFailures = [
      { what: 'is that of its stream', goOn: pipeMuch, reported: [] },
      {
        what: 'is its own',
        goOn: async (res: ServerResponse): Promise<void> => {
          await pipeMuch(res).catch(() => undefined);
          throw new Error('late');
        },
        reported: [new Error('late')],
      },
    ];
    test.for(lateFailures)(
      'and refused: the failure of its handler afterwards reaches no error handler and closes nothing, where it $what',
      async ({ goOn, reported }, { stage }) => {
        const late: unknown[] = [];
        const onSecondResponse = (error: unknown): void => {
          late.push(error);
          stage.happenings.tell();
        };
        await stage.serveOrder(
          async (call) => {
            await stage.insertOrder(call);
            await goOn(call.res!);
          },
          { transaction: { onSecondResponse } },
        );
        await expectOneError(stage);
        expect(stage.errors).toHaveLength(1);
        await stage.happenings.until(() => late.length >= reported.length, 'the late failure is reported');
        expect(late).toEqual(reported);
      },
    );

    test('that begins while its transaction waits for a connection is refused, too', async ({ stage }) => {
      let response: ServerResponse | undefined;
      await stage.serve([
        {
          method: 'POST',
          path: '/orders',
          transaction: {},
          wrap: { before: (res) => void (response = res) },
          handle: () => expect.unreachable('a handler whose response has begun'),
        },
      ]);
      const returnConnections = await stage.takeAllConnections();
      const client = await stage.sends(ORDER);
      await stage.pool.reaches('acquire');
      response?.flushHeaders();
      returnConnections();
      await client.closed();
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_HTTP_HEAD_SENT' }]);
    });

    test('that has begun before the transaction is closed after a second, if nobody else does', async ({ stage }) => {
      await stage.serve([
        {
          method: 'POST',
          path: '/orders',
          transaction: {},
          wrap: { before: (res) => res.flushHeaders() },
          handle: () => CREATED,
        },
      ]);
      const client = await stage.sends(ORDER);
      await client.closed();
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_HTTP_HEAD_SENT' }]);
    });
  });
}

/** Keeps what is written until it is flushed, as a compressor does. */
class Batch extends Transform {
  #kept = '';

  override _transform(chunk: unknown, _encoding: unknown, done: () => void): void {
    this.#kept += String(chunk);
    done();
  }

  override _flush(done: () => void): void {
    this.flush();
    done();
  }

  flush(): void {
    this.push(this.#kept);
    this.#kept = '';
  }
}
