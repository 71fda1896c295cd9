import { openScopes } from '@ambit/container/tools';
import { describe, expect, test } from 'vitest';
import { createHandler } from '../src/index.js';
import { App, get, settled, SlowBody } from './support/app.js';

function streaming() {
  const app = new App();
  const body = new SlowBody();
  return { app, body, handler: createHandler(app.container, () => new Response(body.stream)) };
}

describe('drain()', () => {
  test('resolves at once where no request is open', async () => {
    const handler = createHandler(new App().container, () => new Response('hello'));
    await expect(handler.drain()).resolves.toBe(undefined);
  });

  test('waits until every response has been read and every scope is disposed', async () => {
    const { app, body, handler } = streaming();
    let disposed = (): void => undefined;
    const response = await handler(get());
    openScopes(app.container)[0]?.defer(() => new Promise<void>((resolve) => (disposed = resolve)));
    let isDrained = false;
    const draining = handler.drain().then(() => (isDrained = true));
    body.end();
    await response.text();
    await settled();
    expect([isDrained, handler.openRequests]).toEqual([false, 1]);
    disposed();
    await draining;
    expect([handler.openRequests, app.open]).toEqual([0, 0]);
  });

  test('rejects with a code after its time limit, and says how many requests are open', async () => {
    const { handler, body } = streaming();
    const response = await handler(get());
    await expect(handler.drain({ timeoutMs: 1 })).rejects.toMatchObject({
      code: 'AMBIT_HTTP_DISPOSE_TIMEOUT',
      message: expect.stringContaining('1 are open after 1 ms') as string,
    });
    body.end();
    await response.text();
    await handler.drain({ timeoutMs: Infinity });
  });

  test('refuses an invalid time limit', async () => {
    const { handler } = streaming();
    await expect(handler.drain({ timeoutMs: -1 })).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });
});
