import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import type { Request } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { application, serve } from './support/app.js';

setFlagsFromString('--allow-natives-syntax');
const areOfOneShape = runInThisContext('(one, other) => %HaveSameMap(one, other)') as (
  one: object,
  other: object,
) => boolean;

// Where each has a shape of its own, every cache in the code of Node and Express misses.
describe('to V8, all requests are of one shape, and so are all responses', () => {
  it.each([
    ['behind the container', []],
    ['behind a transaction', [withTransaction()]],
  ])('%s', async (_where, middleware) => {
    const { app } = application();
    const together: Request[] = [];
    app.post('/', ...middleware, (req) => {
      together.push(req);
      if (together.length < 2) return;
      const [one, other] = together.splice(0) as [Request, Request];
      other.res?.json([areOfOneShape(one, other), areOfOneShape(one.res as object, other.res as object)]);
      one.res?.json([]);
    });
    const { post } = await serve(app);
    // The first requests of a process may still be learning, and the collector may drop a shape that nothing has.
    await expect.poll(() => both(post), { interval: 1 }).toEqual([true, true]);
  });
});

async function both(post: (path: string) => Promise<Response>): Promise<unknown[]> {
  const responses = await Promise.all([post('/'), post('/')]);
  const bodies = (await Promise.all(responses.map((response) => response.json()))) as unknown[][];
  return bodies.flat();
}
