import { Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import { connectionLost } from '../../tools.js';
import { expectTakenBack, MANY_HEADERS } from '../headers.js';
import { ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

/** An error that takes the place of a response says nothing that was true of that response only. */
export function replacedResponseContract(test: StageTest): void {
  describe('a response replaced by an error', () => {
    test('because COMMIT fails takes back what was said of it, and nothing else', async ({ stage }) => {
      await stage.serveOrder(stage.orderThen((call) => call.setHeaders(MANY_HEADERS)));
      stage.pool.before('commit', () => {
        throw connectionLost();
      });
      const response = await stage.order();
      expect(response.status).toBe(503);
      expectTakenBack(response);
    });

    test('because COMMIT fails takes back how its body would have been framed', async ({ stage }) => {
      await stage.serveOrder(
        stage.orderThen((call) => {
          call.setHeaders({ 'transfer-encoding': 'chunked', trailer: 'x-sum' });
          return { kind: 'stream', stream: Readable.from(['a', 'b']) };
        }),
      );
      stage.pool.before('commit', () => {
        throw connectionLost();
      });
      const client = await stage.client();
      const { status, headers, text } = await client.request(ORDER);
      expect([status, JSON.parse(text)]).toMatchObject([503, { detail: 'Try again later' }]);
      const framing = ['content-length', 'transfer-encoding', 'trailer'].filter((name) => name in headers);
      expect(framing).toEqual(['content-length']);
      expect((await client.request({ path: '/ping' })).text).toBe('pong');
      expect(client.unread).toBe('');
    });
  });
}
