import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { application, get, serve, signal } from './support/app.js';

test('a pipelined request that waited its turn runs in its own asynchronous context', async () => {
  const context = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const all = signal();
  const made = await application({
    plugin: { maxRequestsPerConnection: 1 },
    before: (app) => app.addHook('onRequest', (request, _reply, done) => context.run(request.url, done)),
  });
  made.app.get('/:id', async () => {
    seen.push(context.getStore());
    if (seen.length === 3) all.resolve();
    return 'ok';
  });
  const socket = await (await serve(made.app)).socket();

  socket.write(get('/1') + get('/2') + get('/3'));
  await all.promise;
  socket.destroy();

  expect(seen).toEqual(['/1', '/2', '/3']);
});
