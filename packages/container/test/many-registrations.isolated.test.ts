import { describe, expect, it } from 'vitest';
import { Registration, singleton, type Container } from '../src/index.js';
import { override } from '../src/tools.js';
import { heapAfterCollection } from './support/memory.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const made = Registration.fromFactory(() => ({})).pipe(singleton());
const user = (key: string) => Registration.fromFactory((id: unknown) => ({ id }), [key]);

/** How many slots the scope has of its own, and how many scopes like it have. */
function slotsOf(scope: Container): { own: number; given: number } {
  const { slots, shape } = scope as unknown as { slots: unknown[]; shape: { slots: { size: number } } };
  return { own: slots.length, given: shape.slots.size };
}

/** How many MB more are in use after the work. */
async function grown(work: () => unknown): Promise<number> {
  const before = await heapAfterCollection();
  await work();
  return ((await heapAfterCollection()) - before) / 1e6;
}

describe('memory stays bounded', () => {
  it('with 4,000 keys registered on one scope: they are freed with it', async () => {
    const app = openApplication();
    const growth = await grown(async () => {
      const request = openRequest(app);
      for (let i = 0; i < 4000; i++) request.register(`key ${i}`, () => i);
      expect(request.resolve('key 3999')).toBe(3999);
      await request.dispose();
    });

    expect(growth).toBeLessThan(2);
  });

  it('with 4,000 keys that services ask for, registered on one scope', async () => {
    const keys = Array.from({ length: 4000 }, (_, i) => `key ${i}`);
    const app = openApplication(...keys.map((key) => user(key).to(`user of ${key}`)));
    const growth = await grown(async () => {
      const request = openRequest(app);
      for (const key of keys) request.register(key, () => key);
      expect(request.resolve('user of key 3999')).toEqual({ id: 'key 3999' });
      await request.dispose();
    });

    expect(growth).toBeLessThan(10);
  });

  it('with 2,000 overrides that are taken back: no slots are left behind', () => {
    const app = openApplication(made.to('IPool'));
    const fakes = new Set<unknown>();
    const sizes = Array.from({ length: 2000 }, () => {
      using _ = override(app, made.to('IPool'));
      fakes.add(app.resolve('IPool'));
      return slotsOf(app).given;
    });

    expect(fakes.size).toBe(2000);
    expect(fakes).not.toContain(app.resolve('IPool'));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(3);
    expect(slotsOf(app).own).toBeLessThanOrEqual(3);
  });
});

it('a request that uses three services stays small, however many the application has used', () => {
  const app = openApplication(...Array.from({ length: 3000 }, (_, i) => made.pipe(perRequest).to(`service ${i}`)));
  const first = openRequest(app);
  const instances = Array.from({ length: 3000 }, (_, i) => first.resolve(`service ${i}`));
  expect(new Set(instances).size).toBe(3000);
  expect(instances.every((instance, i) => instance === first.resolve(`service ${i}`))).toBe(true);

  const request = openRequest(app);
  for (const key of ['service 2997', 'service 2998', 'service 2999']) request.resolve(key);
  expect(slotsOf(request).own).toBeLessThanOrEqual(32);
});
