import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { Container, hasTag, Registration, scope, singleton } from '../src/index.js';
import { openScopes } from '../src/tools.js';
import { failing, holding, logged, turn } from './support/disposers.js';

const MANY = 100_000;
const SEED = 20_240_817;
const GENEROUS = 60_000;

/** The same shuffle every time (mulberry32). */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  let state = seed;
  for (let i = result.length - 1; i > 0; i--) {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    const j = ((mixed ^ (mixed >>> 14)) >>> 0) % (i + 1);
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

const backwards = <T>(items: readonly T[]): T[] => items.map((_, i) => items[items.length - 1 - i] as T);

class Users {
  static disposed = 0;
  dispose(): void {
    Users.disposed++;
  }
}

function crowd() {
  const users = Registration.fromClass(Users).pipe(singleton(), scope(hasTag('request')));
  const app = new Container().addRegistration(users.to('IUsers'));
  const requests = Array.from({ length: MANY }, () => app.createScope({ tags: ['request'] }));
  for (const request of requests) request.resolve('IUsers');
  return { app, requests, before: Users.disposed };
}

const collectGarbage = ((): (() => void) => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

/** True when nothing holds the object any more. */
async function collected(reference: WeakRef<object>): Promise<boolean> {
  for (let tries = 0; tries < 10 && reference.deref(); tries++) {
    await turn();
    collectGarbage();
  }
  return reference.deref() === undefined;
}

describe('100,000 open children', () => {
  it.each<[string, (requests: Container[]) => Container[]]>([
    ['the oldest first', (requests) => requests],
    ['the newest first', (requests) => backwards(requests)],
    [`in any order (seed ${SEED})`, (requests) => shuffled(requests, SEED)],
  ])(
    'are disposed %s and leave nothing in their parent',
    async (_, order) => {
      const { app, requests, before } = crowd();
      await Promise.all(order(requests).map((request) => request.dispose()));
      expect(Users.disposed - before).toBe(MANY);
      expect(openScopes(app)).toHaveLength(0);
    },
    GENEROUS,
  );

  it(
    'are disposed with their parent, which is left with none',
    async () => {
      const { app, requests, before } = crowd();
      await app.dispose();
      expect(Users.disposed - before).toBe(MANY);
      expect(requests.every(({ disposed }) => disposed)).toBe(true);
      expect(openScopes(app)).toHaveLength(0);
    },
    GENEROUS,
  );

  it(
    'are known to their parent, the oldest first, when every other was disposed in any order',
    async () => {
      const { app, requests } = crowd();
      const leaving = requests.filter((_, i) => i % 2 === 0);
      await Promise.all(shuffled(leaving, SEED).map((request) => request.dispose()));
      const staying = requests.filter((_, i) => i % 2 === 1);
      const open = openScopes(app);
      expect(open).toHaveLength(staying.length);
      expect(open.every((request, i) => request === staying[i])).toBe(true);
    },
    GENEROUS,
  );
});

describe('a disposed child can be collected while its parent and siblings are open', () => {
  const open = (app: Container) => holding(app.createScope({ tags: ['request'] }), logged([], 'IUsers'));

  it.each<[string, (app: Container) => Promise<WeakRef<Container>>]>([
    [
      'that had an instance to dispose',
      async (app) => {
        const child = open(app);
        await child.dispose();
        return new WeakRef(child);
      },
    ],
    [
      'that had nothing to dispose',
      async (app) => {
        const child = app.createScope({ tags: ['request'] });
        await child.dispose();
        return new WeakRef(child);
      },
    ],
    [
      'whose disposer failed',
      async (app) => {
        const child = holding(app.createScope(), failing(new Error('lost')));
        await child.dispose().catch(() => undefined);
        return new WeakRef(child);
      },
    ],
    [
      'that had keys registered directly and children of its own',
      async (app) => {
        const child = open(app).register('ISession', (given) => ({ given }));
        child.createScope({ tags: ['transaction'] }).resolve('ISession');
        await child.dispose();
        return new WeakRef(child);
      },
    ],
    [
      'that asked the application for its singleton first',
      async (app) => {
        const child = app.createScope({ tags: ['request'] });
        child.resolve('IPool');
        await child.dispose();
        return new WeakRef(child);
      },
    ],
    [
      'that was asked for what is not there',
      async (app) => {
        const child = app.createScope({ tags: ['request'] });
        expect(() => child.resolve('IMissing')).toThrow('IMissing');
        await child.dispose();
        return new WeakRef(child);
      },
    ],
  ])('%s', async (_, openAndEnd) => {
    const app = new Container().addRegistration(logged([], 'IPool').to('IPool'));
    const [older, disposed, newer] = [open(app), await openAndEnd(app), open(app)];
    expect(await collected(disposed)).toBe(true);
    expect(openScopes(app)).toEqual([older, newer]);
  });

  it('while one that is still open is kept by its parent, so that it can be disposed', async () => {
    const app = new Container();
    const forget = () => new WeakRef(open(app));
    const reference = forget();
    expect(await collected(reference)).toBe(false);
    await app.dispose();
    expect(await collected(reference)).toBe(true);
  });
});
