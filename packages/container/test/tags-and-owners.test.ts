import { describe, expect, expectTypeOf, it } from 'vitest';
import { Container, hasTag, Registration, scope, singleton, type IContainer, type Tagged } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class Audit {}
const audit = Registration.fromClass(Audit).pipe(singleton());
const perRequestAudit = audit.pipe(perRequest).to('IAudit');

describe('the owner of an instance', () => {
  it('is the nearest scope upward that the predicate accepts: a transaction gets the request’s', async () => {
    const app = openApplication(perRequestAudit);
    const request = openRequest(app);
    const transaction = openTransaction(request);
    const made = transaction.resolve('IAudit');
    await transaction.dispose();

    expect(made).toBeInstanceOf(Audit);
    expect(request.resolve('IAudit')).toBe(made);
    expect(openTransaction(openTransaction(request)).resolve('IAudit')).toBe(made);
  });

  it.each([
    ['a request in a request', ['request'], hasTag('request')],
    ['a request in an application', ['application'], scopes('application', 'request')],
  ])('is the nearer of two that match: %s', (_, tags, predicate) => {
    const app = new Container({ tags: ['root'] }).addRegistration(audit.pipe(scope(predicate)).to('IAudit'));
    const outer = app.createScope({ tags });
    const inner = openRequest(openTransaction(outer));

    expect(inner.resolve('IAudit')).toBe(inner.resolve('IAudit'));
    expect(outer.resolve('IAudit')).toBe(outer.resolve('IAudit'));
    expect(inner.resolve('IAudit')).not.toBe(outer.resolve('IAudit'));
    expect(openTransaction(inner).resolve('IAudit')).toBe(inner.resolve('IAudit'));
  });

  it('is each of two nested transactions for what belongs to transactions', () => {
    const app = openApplication(audit.pipe(scope(hasTag('transaction'))).to('IAudit'));
    const outer = openTransaction(openRequest(app));
    const inner = openTransaction(outer);

    expect(inner.resolve('IAudit')).not.toBe(outer.resolve('IAudit'));
  });

  it('is never a scope without tags, which uses its parent’s', () => {
    const request = openRequest(openApplication(perRequestAudit));

    expect(request.createScope().resolve('IAudit')).toBe(request.resolve('IAudit'));
    expect(request.createScope({}).createScope({ tags: [] }).resolve('IAudit')).toBe(request.resolve('IAudit'));
  });

  it('is every scope, with tags or without, for a predicate that accepts all', async () => {
    const [app, disposed] = [openApplication(), [] as number[]];
    const request = openRequest(app);
    const owners: IContainer[] = [app, request, request.createScope(), openRequest(app)];
    const noted = Registration.fromFactory((owner) => ({ dispose: () => void disposed.push(owners.indexOf(owner)) }));
    const everywhere = noted.pipe(
      singleton(),
      scope(() => true),
    );
    app.addRegistration(everywhere.to('IAudit'));

    expect(new Set([...owners, ...owners].map((owner) => owner.resolve('IAudit'))).size).toBe(4);
    await request.dispose();
    expect(disposed).toEqual([2, 1]);
    await app.dispose();
    expect(disposed).toEqual([2, 1, 3, 0]);
  });

  it('is every scope with any of the tags a predicate accepts', () => {
    const app = openApplication(audit.pipe(scope(scopes('request', 'job'))).to('IAudit'));
    const [request, job] = [openRequest(app), app.createScope({ tags: ['job'] })];

    expect(job.resolve('IAudit')).toBe(job.resolve('IAudit'));
    expect(request.resolve('IAudit')).toBeInstanceOf(Audit);
    expect(request.resolve('IAudit')).not.toBe(job.resolve('IAudit'));
    expect(refusal(() => app.resolve('IAudit')).code).toBe('AMBIT_OUT_OF_SCOPE');
  });

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

  it('is the same for hasTag and for a predicate written out', () => {
    const app = openApplication(perRequestAudit, audit.pipe(scope((s) => s.hasTag('request'))).to('IWrittenOut'));
    const request = openRequest(app);
    const transaction = openTransaction(request);

    expect(transaction.resolve('IWrittenOut')).toBe(request.resolve('IWrittenOut'));
    expect(transaction.resolve('IAudit')).toBe(request.resolve('IAudit'));
    expect(refusal(() => app.resolve('IWrittenOut')).code).toBe(refusal(() => app.resolve('IAudit')).code);
  });
});

describe('a key for requests', () => {
  it('is refused on the application, and the message says what its predicate wanted', () => {
    const error = refusal(() => openApplication(perRequestAudit).resolve('IAudit'));

    expect(error).toMatchObject({ code: 'AMBIT_OUT_OF_SCOPE', key: 'IAudit', tags: [['application']] });
    expect(error.hint).toContain("predicate asks for 'request'");
    expect(error.message).toContain('[application]');
  });

  it('added to a request for its transactions is owned by these, not by transactions of other requests', () => {
    const app = openApplication();
    const forTransactions = audit.pipe(scope(hasTag('transaction'))).to('IAudit');
    const request = openRequest(app).addRegistration(forTransactions);

    expect(openTransaction(request).resolve('IAudit')).not.toBe(openTransaction(request).resolve('IAudit'));
    expect(refusal(() => request.resolve('IAudit')).code).toBe('AMBIT_OUT_OF_SCOPE');
    expect(refusal(() => openTransaction(openRequest(app)).resolve('IAudit')).code).toBe('AMBIT_NOT_REGISTERED');
  });

  it('added below the only scope its predicate matches is out of reach, and makes nothing up there', () => {
    let made = 0;
    const forApplication = Registration.fromFactory(() => ++made).pipe(singleton(), scope(hasTag('application')));
    const app = openApplication();
    const request = openRequest(app).addRegistration(forApplication.to('IAudit'));

    expect(refusal(() => request.resolve('IAudit')).code).toBe('AMBIT_OUT_OF_SCOPE');
    expect(refusal(() => app.resolve('IAudit')).code).toBe('AMBIT_NOT_REGISTERED');
    expect(made).toBe(0);
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

/** A predicate for scopes that carry any of the tags. */
function scopes(...tags: string[]) {
  return (tagged: Tagged) => tags.some((tag) => tagged.hasTag(tag));
}
