import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { application } from './support/app.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

test('a request that was injected leaves nothing behind', async () => {
  const { app } = await application();
  const sockets: WeakRef<object>[] = [];
  app.get('/', ({ raw }) => {
    sockets.push(new WeakRef(raw.socket));
    return 'hello';
  });

  for (let i = 0; i < 5; i++) await app.inject('/');
  for (let i = 0; i < 3; i++) {
    await new Promise(setImmediate);
    collect();
  }

  // Fastify, Node or V8 may keep the last one.
  expect(sockets.filter((socket) => socket.deref()).length).toBeLessThanOrEqual(1);
});
