import { describe, expect, it } from 'vitest';
import { hasTag, lazy, lifetimes, scope } from '../src/index.js';
import { override } from '../src/tools.js';
import { asking } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

describe('the hint', () => {
  it.each([
    ['IUserRepositry', 'a letter is missing'],
    ['IUserReposittory', 'a letter is too much'],
    ['IUserRepositary', 'a letter is another'],
    ['IUserReopsitory', 'two letters changed places'],
    ['UserRepository', 'the first letter is missing'],
    ['IUserRepositoryy', 'the last letter is double'],
    ['iuserrepository', 'capital letters are small'],
  ])('for %s suggests the key that is meant: %s', (key) => {
    const app = openApplication(asking().to('IUserRepository'), asking().to('IOther'));

    expect(refusal(() => openRequest(app).resolve(key))).toMatchObject({
      code: 'AMBIT_NOT_REGISTERED',
      key,
      hint: expect.stringContaining("'IUserRepository'") as string,
    });
  });

  it('suggests no key that was there while it was overridden only', () => {
    const app = openApplication(asking(lazy('INew')).to('IUsers'));
    override(app, asking().to('INew'))[Symbol.dispose]();

    expect(refusal(() => app.resolve('INew')).hint).not.toContain('did you mean');
  });

  it('speaks of the lifetime of an entry of a graph, whose predicate nobody wrote', () => {
    const { make, build } = lifetimes('application', 'request', 'transaction');
    const { registrations } = build({ IUnitOfWork: make('transaction', () => ({})) });
    const { hint } = refusal(() => openRequest(openApplication(...registrations)).resolve('IUnitOfWork'));

    expect(hint).toBe("its lifetime asks for 'transaction'; neither this scope nor one around it has that");
  });

  it('suggests nothing far-fetched', () => {
    const app = openApplication(asking().to('IUserRepository'), asking().to(Symbol('ILogger')), asking().to('A'));

    expect(refusal(() => app.resolve('IUserRepos')).hint).not.toContain('IUserRepository');
    expect(refusal(() => app.resolve('B')).hint).not.toContain("'A'");
  });

  it.each([
    ['one tag', asking().pipe(perRequest), ['request']],
    [
      'one of two',
      asking().pipe(scope((tagged) => tagged.hasTag('request') || tagged.hasTag('job'))),
      ['request', 'job'],
    ],
    ['the first of two', asking().pipe(perRequest, scope(hasTag('admin'))), ['request']],
    ['the second of two', asking().pipe(scope(hasTag('application')), scope(hasTag('admin'))), ['admin']],
  ])('says which tag a predicate asked for without result: %s', (_, registration, tags) => {
    const app = openApplication(registration.to('IUsers'));
    const error = refusal(() => app.resolve('IUsers'));

    expect(error).toMatchObject({ code: 'AMBIT_OUT_OF_SCOPE', key: 'IUsers', tags: [['application']] });
    for (const tag of tags) expect(error.hint).toContain(`'${tag}'`);
    expect(error.hint).not.toContain("'application'");
  });

  it('speaks of the predicate, too, where it asked for no tag', () => {
    const app = openApplication(
      asking()
        .pipe(scope(() => false))
        .to('IUsers'),
    );

    expect(refusal(() => app.resolve('IUsers')).hint).toContain('predicate');
  });
});
