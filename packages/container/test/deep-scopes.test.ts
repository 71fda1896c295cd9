import { describe, expect, it, vi } from 'vitest';
import { Registration, scope, singleton, type Container } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication } from './support/scopes.js';

describe('a circular dependency through child scopes', () => {
  it.each([
    ['of the same tags', () => ['step']],
    ['of other tags each time', (round: number) => [`step ${round}`]],
    ['of no tags', () => []],
  ])('is found after few rounds: %s', (_, tagsOf) => {
    let calls = 0;
    const app = openApplication(
      Registration.fromFactory((from) => from.createScope({ tags: tagsOf(++calls) }).resolve('job')).to('job'),
    );
    const error = refusal(() => app.resolve('job'));

    expect(error.code).toBe('AMBIT_CYCLE');
    expect(error.path).toEqual(['job', 'job']);
    expect(calls).toBeLessThan(500);
    expect(error.message.length).toBeLessThan(1000);
  });

  it('is none where it stops by itself', () => {
    let depth = 50;
    const app = openApplication(
      Registration.fromFactory((from): unknown =>
        depth-- === 0 ? 'done' : from.createScope({ tags: ['step'] }).resolve('job'),
      ).to('job'),
    );

    expect(app.resolve('job')).toBe('done');
  });
});

/** How often predicates are called, and registrations looked up, for one resolve in so many nested scopes. */
function workAt(depth: number): { predicates: number; lookups: number } {
  const work = { predicates: 0, lookups: 0 };
  const counted = scope(() => {
    work.predicates++;
    return true;
  });
  const app = openApplication(
    Registration.fromFactory(() => ({}))
      .pipe(singleton(), counted)
      .to('IService'),
  );
  let innermost: Container = app;
  for (let i = 0; i < depth; i++) innermost = innermost.createScope({ tags: [`level ${i % 7}`] });

  const spy = vi.spyOn(Map.prototype, 'get');
  innermost.resolve('IService');
  work.lookups = spy.mock.calls.length;
  spy.mockRestore();
  return work;
}

it('a resolve in nested scopes costs a few steps for each level, not for each pair of levels', () => {
  for (const depth of [250, 500, 1000]) {
    const { predicates, lookups } = workAt(depth);
    expect(predicates).toBeLessThanOrEqual(2 * (depth + 1));
    expect(lookups).toBeLessThanOrEqual(20 * (depth + 1));
  }
});

/** How often registrations are looked up while so many nested scopes each add one and resolve it. */
function lookupsOfAdding(depth: number): number {
  const added = Registration.fromFactory(() => ({})).pipe(singleton());
  let innermost: Container = openApplication();
  const spy = vi.spyOn(Map.prototype, 'get');
  for (let i = 0; i < depth; i++) {
    innermost = innermost.createScope({ tags: ['level'] }).addRegistration(added.to('IService'));
    innermost.resolve('IService');
  }
  const lookups = spy.mock.calls.length;
  spy.mockRestore();
  return lookups;
}

it('nested scopes that each add a registration cost a few lookups each, however deep they are', () => {
  expect(lookupsOfAdding(200) / lookupsOfAdding(50)).toBeLessThan(6);
});
