import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  Container,
  hasTag,
  MetadataInjector,
  Registration,
  scope as onlyWhere,
  singleton,
  type Tagged,
} from '../src/index.js';
import { asking } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class Audit {}
const audit = Registration.fromClass(Audit).pipe(singleton());

describe('the tags of a scope', () => {
  it('are its own: a child carries only those it was opened with', () => {
    const request = openRequest(openApplication());

    expect(request.tags).toEqual(['request']);
    expect(request.hasTag('application')).toBe(false);
    expect(openTransaction(request).tags).toEqual(['transaction']);
    expect(request.createScope().tags).toEqual([]);
  });

  it.each([
    ['options alone', new Container({ tags: ['application'] })],
    ['an injector and options', new Container(new MetadataInjector(), { tags: ['application'] })],
    ['no injector and options', new Container(undefined, { tags: ['application'] })],
  ])('are given to a new container with %s', (_, app) => {
    expect(app.tags).toEqual(['application']);
    expect(app.hasTag('application')).toBe(true);
  });

  it.each([
    ['nothing', new Container()],
    ['an injector', new Container(new MetadataInjector())],
    ['empty options', new Container({})],
  ])('are none for a new container with %s', (_, app) => {
    expect(app.tags).toEqual([]);
  });

  it('do not change with the list they were given in', () => {
    const app = openApplication(audit.pipe(perRequest).to('IAudit'));
    const tags = ['request'];
    const request = app.createScope({ tags });
    tags[0] = 'job';
    tags.push('admin');

    expect([request.hasTag('request'), request.hasTag('job'), request.hasTag('admin')]).toEqual([true, false, false]);
    expect(request.resolve('IAudit')).toBeInstanceOf(Audit);
    expect(refusal(() => app.createScope({ tags }).resolve('IAudit')).code).toBe('AMBIT_OUT_OF_SCOPE');
  });

  it('may be given in any order and repeated', () => {
    const both = audit.pipe(perRequest, onlyWhere(hasTag('admin'))).to('IAudit');
    const app = openApplication(both);
    for (const tags of [
      ['request', 'admin'],
      ['admin', 'request', 'request'],
      ['admin', 'admin', 'request'],
    ]) {
      expect(app.createScope({ tags }).resolve('IAudit')).toBeInstanceOf(Audit);
    }
  });

  it('are compared whole: no joining of tags makes another tag', () => {
    const app = openApplication(audit.pipe(onlyWhere(hasTag('a,b'))).to('IAudit'));
    expect(app.createScope({ tags: ['a,b'] }).resolve('IAudit')).toBeInstanceOf(Audit);
    for (const tags of [['a', 'b'], ['a","b'], ['["a,b"]'], ['a,b ']]) {
      expect(refusal(() => app.createScope({ tags }).resolve('IAudit')).code).toBe('AMBIT_OUT_OF_SCOPE');
    }
  });

  it.each([['__proto__'], ['constructor'], ['toString'], [''], ['tag with spaces']])('may be odd: %j', (tag) => {
    const app = openApplication(audit.pipe(onlyWhere(hasTag(tag))).to('IAudit'));

    expect(app.createScope({ tags: [tag] }).resolve('IAudit')).toBeInstanceOf(Audit);
    expect(app.hasTag(tag)).toBe(false);
    expect(refusal(() => openRequest(app).resolve('IAudit')).code).toBe('AMBIT_OUT_OF_SCOPE');
  });
});

it('a predicate may take hasTag out of its argument', () => {
  const ofRequest = audit.pipe(onlyWhere(({ hasTag: has }) => has('request'))).to('IAudit');
  const app = openApplication(ofRequest);

  expect(app.has('IAudit')).toBe(false);
  expect(openRequest(app).resolve('IAudit')).toBeInstanceOf(Audit);
});

const perRequestAudit = audit.pipe(perRequest).to('IAudit');

describe('the owner of an instance', () => {
  it('satisfies the predicate of each of its tags, and two predicates only together', () => {
    const app = openApplication(
      perRequestAudit,
      audit.pipe(onlyWhere(hasTag('admin'))).to('IAdminAudit'),
      audit.pipe(perRequest, onlyWhere(hasTag('admin'))).to('IBoth'),
    );
    const both = app.createScope({ tags: ['request', 'admin'] });

    expect(['IAudit', 'IAdminAudit', 'IBoth'].map((key) => both.resolve(key))).toEqual(
      Array(3).fill(expect.any(Audit)),
    );
    expect(refusal(() => openRequest(app).resolve('IBoth')).code).toBe('AMBIT_OUT_OF_SCOPE');
    expect(refusal(() => app.createScope({ tags: ['admin'] }).resolve('IBoth')).code).toBe('AMBIT_OUT_OF_SCOPE');
  });
});

describe('a predicate', () => {
  it('is asked once for a shape of scope, not for every scope', () => {
    let asked = 0;
    const counting = (tagged: Tagged) => {
      asked++;
      return tagged.hasTag('request');
    };
    const app = openApplication(audit.pipe(onlyWhere(counting)).to('IAudit'));
    openTransaction(openRequest(app)).resolve('IAudit');
    const afterTheFirst = asked;
    for (let i = 0; i < 1000; i++) openTransaction(openRequest(app)).resolve('IAudit');

    expect(afterTheFirst).toBeGreaterThan(0);
    expect(asked).toBe(afterTheFirst);
  });

  it('sees tags and cannot resolve', () => {
    expectTypeOf<keyof Tagged>().toEqualTypeOf<'hasTag'>();
    const seen = new Set<Tagged>();
    const app = openApplication(audit.pipe(onlyWhere((tagged) => Boolean(seen.add(tagged)))).to('IAudit'));
    openRequest(app).resolve('IAudit');

    expect(seen.size).toBeGreaterThan(0);
    expect([...seen].filter((tagged) => 'resolve' in tagged || 'createScope' in tagged)).toEqual([]);
  });
});

describe('a scope has a key', () => {
  it('when it is bound there or above: by registration, by predicate or directly', () => {
    const app = openApplication(
      Registration.fromValue(1).to('IApplicationThing'),
      asking().pipe(singleton(), perRequest).to('IRequestThing'),
    );
    const request = openRequest(app);
    const transaction = openTransaction(request).register('ISession', () => 'open');
    const keys = ['IApplicationThing', 'IRequestThing', 'ISession', 'IUnknown'];
    const had = (scope: Container) => keys.filter((key) => scope.has(key));

    expect(had(app)).toEqual(['IApplicationThing']);
    expect(had(request)).toEqual(['IApplicationThing', 'IRequestThing']);
    expect(had(transaction)).toEqual(['IApplicationThing', 'IRequestThing', 'ISession']);
    expect(had(openTransaction(request))).toEqual(had(request));
  });

  it('whether or not what the key needs is there, and makes nothing to know it', () => {
    let made = 0;
    const app = openApplication(asking('IMissing').to('IUsers'), Registration.fromFactory(() => ++made).to('ICounter'));

    expect([app.has('IUsers'), app.has('ICounter'), app.has('IMissing')]).toEqual([true, true, false]);
    expect(made).toBe(0);
  });

  it.each([
    ['a key nobody registered', 'IUnknown', 'AMBIT_NOT_REGISTERED'],
    ['a key for requests, on the application', 'IRequestThing', 'AMBIT_OUT_OF_SCOPE'],
  ])('only then, also after it was asked for: %s', (_, key, code) => {
    const app = openApplication(asking().pipe(perRequest).to('IRequestThing'), asking(key).to('IHolder'));
    for (const asked of [key, 'IHolder', key]) expect(refusal(() => app.resolve(asked)).code).toBe(code);

    expect(app.has(key)).toBe(false);
    expect(app.resolveAll(key)).toEqual([]);
    expect(app.has(key)).toBe(false);
  });

  it('says the same of a class that nobody registered, before and after it was made', () => {
    class Users {}
    const app = openApplication();
    const before = app.has(Users);
    app.resolve(Users);

    expect(app.has(Users)).toBe(before);
  });
});

it('JSON.stringify() of a scope says which scope it is, and nothing of its services', () => {
  const app = openApplication(
    Registration.fromFactory(() => ({ password: 'secret' }))
      .pipe(singleton())
      .to('IConfig'),
  );
  app.resolve('IConfig');

  expect(JSON.stringify({ scope: openRequest(app) })).toBe('{"scope":"Container [application] > [request]"}');
});

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
  const counted = onlyWhere(() => {
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

class First {}

const first = Registration.fromClass(First);

describe('one registration object', () => {
  it('added to two applications makes two singletons', () => {
    const registration = first.pipe(singleton()).to('IThing');
    const [one, other] = [openApplication(registration), openApplication(registration)];

    expect(one.resolve('IThing')).toBe(one.resolve('IThing'));
    expect(one.resolve('IThing')).not.toBe(other.resolve('IThing'));
  });

  it('added to the application and to a request makes a singleton in each', () => {
    const registration = first.pipe(singleton()).to('IThing');
    const app = openApplication(registration);
    const request = openRequest(app).addRegistration(registration);

    expect(request.resolve('IThing')).toBe(request.resolve('IThing'));
    expect(request.resolve('IThing')).not.toBe(app.resolve('IThing'));
    expect(openRequest(app).resolve('IThing')).toBe(app.resolve('IThing'));
  });

  it('is not changed by what is piped to it afterwards', () => {
    const plain = Registration.fromClass(First);
    const kept = plain.pipe(singleton());
    const app = openApplication(plain.to('IPlain'), kept.to('IKept'), kept.pipe(perRequest).to('IRequestKept'));

    expect(app.resolve('IPlain')).not.toBe(app.resolve('IPlain'));
    expect(app.resolve('IKept')).toBe(app.resolve('IKept'));
    expect(openRequest(app).resolve('IKept')).toBe(app.resolve('IKept'));
    expect(openRequest(app).resolve('IRequestKept')).not.toBe(openRequest(app).resolve('IRequestKept'));
  });
});
