import { describe, expect, it, expectTypeOf } from 'vitest';
import { Container, hasTag, MetadataInjector, Registration, scope, singleton, type Tagged } from '../src/index.js';
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
    const both = audit.pipe(perRequest, scope(hasTag('admin'))).to('IAudit');
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
    const app = openApplication(audit.pipe(scope(hasTag('a,b'))).to('IAudit'));
    expect(app.createScope({ tags: ['a,b'] }).resolve('IAudit')).toBeInstanceOf(Audit);
    for (const tags of [['a', 'b'], ['a","b'], ['["a,b"]'], ['a,b ']]) {
      expect(refusal(() => app.createScope({ tags }).resolve('IAudit')).code).toBe('AMBIT_OUT_OF_SCOPE');
    }
  });

  it.each([['__proto__'], ['constructor'], ['toString'], [''], ['tag with spaces']])('may be odd: %j', (tag) => {
    const app = openApplication(audit.pipe(scope(hasTag(tag))).to('IAudit'));

    expect(app.createScope({ tags: [tag] }).resolve('IAudit')).toBeInstanceOf(Audit);
    expect(app.hasTag(tag)).toBe(false);
    expect(refusal(() => openRequest(app).resolve('IAudit')).code).toBe('AMBIT_OUT_OF_SCOPE');
  });
});

it('a predicate may take hasTag out of its argument', () => {
  const ofRequest = audit.pipe(scope(({ hasTag: has }) => has('request'))).to('IAudit');
  const app = openApplication(ofRequest);

  expect(app.has('IAudit')).toBe(false);
  expect(openRequest(app).resolve('IAudit')).toBeInstanceOf(Audit);
});

const perRequestAudit = audit.pipe(perRequest).to('IAudit');

describe('the owner of an instance', () => {
  it('satisfies the predicate of each of its tags, and two predicates only together', () => {
    const app = openApplication(
      perRequestAudit,
      audit.pipe(scope(hasTag('admin'))).to('IAdminAudit'),
      audit.pipe(perRequest, scope(hasTag('admin'))).to('IBoth'),
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
    const app = openApplication(audit.pipe(scope(counting)).to('IAudit'));
    openTransaction(openRequest(app)).resolve('IAudit');
    const afterTheFirst = asked;
    for (let i = 0; i < 1000; i++) openTransaction(openRequest(app)).resolve('IAudit');

    expect(afterTheFirst).toBeGreaterThan(0);
    expect(asked).toBe(afterTheFirst);
  });

  it('sees tags and cannot resolve', () => {
    expectTypeOf<keyof Tagged>().toEqualTypeOf<'hasTag'>();
    const seen = new Set<Tagged>();
    const app = openApplication(audit.pipe(scope((tagged) => Boolean(seen.add(tagged)))).to('IAudit'));
    openRequest(app).resolve('IAudit');

    expect(seen.size).toBeGreaterThan(0);
    expect([...seen].filter((tagged) => 'resolve' in tagged || 'createScope' in tagged)).toEqual([]);
  });
});
