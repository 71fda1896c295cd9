import { describe, expect, it } from 'vitest';
import { all, hasTag, Registration, scope as onlyWhere, singleton, type Container } from '../src/index.js';
import { override } from '../src/tools.js';
import { heapAfterCollection } from './support/memory.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

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
  it('with tags from data on two levels: 100 x 100', async () => {
    const app = openApplication(made.pipe(perRequest).to('IAudit'), made.to('IShared'));
    const use = async (rounds: number) => {
      for (let i = 0; i < rounds; i++) {
        await using tenant = app.createScope({ tags: ['tenant', `tenant ${i % 100}`] });
        await using request = tenant.createScope({ tags: ['request', `user ${Math.floor(i / 100) % 100}`] });
        request.resolve('IShared');
        request.resolve('IAudit');
      }
    };
    await use(2000);

    expect(await grown(() => use(8000))).toBeLessThan(8);
  });

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

describe.each<[string, (app: Container) => void]>([
  ['that a service asks for', (app) => void app.addRegistration(user('id').to('IUser'))],
  ['that nobody asks for', () => {}],
  ['that a service asks for later', (app) => void openRequest(app).register('id', () => 0)],
])('a key registered on each request, %s', (_, prepare) => {
  it.each<[string, (scope: Container, id: number) => unknown]>([
    ['register', (scope, id) => scope.register('id', () => id)],
    ['addRegistration', (scope, id) => scope.addRegistration(Registration.fromValue(id).to('id'))],
  ])('has its own value in each request and below: %s', (__, give) => {
    const app = openApplication();
    prepare(app);
    for (let id = 0; id < 50; id++) {
      const request = openRequest(app);
      const before = openTransaction(request);
      give(request, id);
      const after = openTransaction(request);
      for (const scope of [request, before, after]) {
        expect(scope.has('id')).toBe(true);
        expect(scope.resolve('id')).toBe(id);
        expect(scope.resolveAll('id')).toEqual([id]);
      }
      if (id === 25) app.addRegistration(user('id').to('IUser'));
      if (app.has('IUser'))
        for (const scope of [request, before, after]) expect(scope.resolve('IUser')).toEqual({ id });
    }
    expect(openRequest(app).has('id')).toBe(false);
  });
});

describe('a value added to a request', () => {
  it('is a member of collections, beside those of the application', () => {
    const rules = Registration.fromFactory((got: unknown[]) => got, [all('IRule')]);
    const app = openApplication(rules.to('IRules'), Registration.fromValue('of all').to('IRule'));
    for (let i = 0; i < 3; i++) {
      const request = openRequest(app).addRegistration(Registration.fromValue(`of ${i}`).to('IRule'));
      expect(request.resolve('IRules')).toEqual(['of all', `of ${i}`]);
      expect(request.resolveAll('IRule')).toEqual(['of all', `of ${i}`]);
    }
    expect(openRequest(app).resolve('IRules')).toEqual(['of all']);
  });

  it('is followed by what is registered later, and both are in the collection', () => {
    const app = openApplication(user('id').to('IUser'));
    const request = openRequest(app).addRegistration(Registration.fromValue('added').to('id'));
    request.register('id', () => 'registered');
    expect(request.resolve('id')).toBe('registered');
    expect(request.resolve('IUser')).toEqual({ id: 'registered' });
    expect(request.resolveAll('id')).toEqual(['added', 'registered']);

    request.addRegistration(Registration.fromValue('last').to('id'));
    expect(request.resolve('id')).toBe('last');
    expect(request.resolveAll('id')).toEqual(['added', 'registered', 'last']);
  });

  it('is two registrations when it is added to a scope and to one below, also beside a class', () => {
    const value = Registration.fromValue('given').to('id');
    const request = openRequest(openApplication()).addRegistration(value);
    const transaction = openTransaction(request).addRegistration(value);
    for (const scope of [request, transaction]) scope.addRegistration(made.to('IMade'));

    expect(transaction.resolveAll('id')).toEqual(['given', 'given']);
  });

  it('is not disposed with it', async () => {
    let disposed = 0;
    const app = openApplication();
    const request = openRequest(app).addRegistration(Registration.fromValue({ dispose: () => disposed++ }).to('id'));
    request.resolve('id');
    await request.dispose();
    expect(disposed).toBe(0);
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

it('a key registered directly is found by an open scope below that has a registration of it for other tags', () => {
  const request = openRequest(openApplication());
  const below = request.createScope({ tags: ['a'] });
  below.addRegistration(
    Registration.fromFactory(() => 'for b')
      .pipe(onlyWhere(hasTag('b')))
      .to('IKey'),
  );
  request.register('IKey', () => 'direct');

  expect(below.resolve('IKey')).toBe('direct');
});
