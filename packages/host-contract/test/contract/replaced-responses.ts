import { describe, expect } from 'vitest';
import { connectionLost } from '../../src/index.js';
import { expectTakenBack, MANY_HEADERS } from '../support/headers.js';
import { CREATED } from '../support/stage.js';
import type { StageTest } from '../support/stage-test.js';

/** An error that takes the place of a response says nothing that was true of that response only. */
export function replacedResponseContract(test: StageTest): void {
  describe('a response replaced by an error', () => {
    test('because COMMIT fails takes back what was said of it, and nothing else', async ({ stage }) => {
      await stage.serveOrder(async (call) => {
        await stage.insertOrder(call);
        call.setHeaders(MANY_HEADERS);
        return CREATED;
      });
      stage.pool.before('commit', () => {
        throw connectionLost();
      });
      const response = await stage.order();
      expect(response.status).toBe(503);
      expectTakenBack(response);
    });
  });
}
