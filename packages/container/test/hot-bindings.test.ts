import { describe, expect, it, vi } from 'vitest';
import { Registration, singleton, type Container, hasTag, scope } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest, openTransaction } from './support/scopes.js';

class Service {
  readonly needed: readonly unknown[];
  constructor(...needed: readonly unknown[]) {
    this.needed = needed;
  }
}

const OFTEN = 2100;
/** One more than the kinds of scope that an application remembers. */
const KINDS = 1501;

/** What only the package itself sees. */
interface Inside {
  readonly shape: { readonly bindings: Map<unknown, unknown>; readonly plans: { readonly copies: number } };
}

const inside = (app: Container) => (app as unknown as Inside).shape;

/** How many bindings of the application have functions of their own. */
const copiesIn = (app: Container) => inside(app).plans.copies;

function resolveOften(app: Container, ...keys: string[]): void {
  for (const key of keys) for (let i = 0; i < OFTEN; i++) openRequest(app).resolve(key);
}

const chain = (length: number) =>
  Array.from({ length }, (_, i) =>
    Registration.fromClass(Service, i > 0 ? [`link ${i - 1}`] : [])
      .pipe(singleton(), perRequest)
      .to(`link ${i}`),
  );

describe('a service that is resolved often gets functions of its own', () => {
  it('once, however many others need it', () => {
    const handlers = ['A', 'B', 'C', 'D'].map((key) =>
      Registration.fromClass(Service, ['link 9']).pipe(singleton(), perRequest).to(key),
    );
    const app = openApplication(...chain(10), ...handlers);
    resolveOften(app, 'A', 'B', 'C', 'D');

    expect(copiesIn(app)).toBe(14);
  });

  it('and gives them back when registrations change the graph', () => {
    const app = openApplication(...chain(10));
    for (let i = 0; i < 5; i++) {
      resolveOften(app, 'link 9');
      expect(copiesIn(app)).toBe(10);
      app.addRegistration(Registration.fromValue(`another ${i}`).to('link 0'));
      expect(copiesIn(app)).toBe(0);
    }
  });

  it('and gives them back when its kind of scope is forgotten', () => {
    const app = openApplication(...chain(3));
    resolveOften(app, 'link 2');
    for (let i = 0; i < KINDS; i++) app.createScope({ tags: [`tenant ${i}`] });

    expect(copiesIn(app)).toBe(0);
    expect(openRequest(app).resolve('link 2')).toBeInstanceOf(Service);
  });

  it('and gives them back when its combination of directly registered keys is forgotten', () => {
    const app = openApplication(...chain(3));
    const withKey = () => openRequest(app).register('link 0', () => 'registered');
    for (let i = 0; i < OFTEN; i++) withKey().resolve('link 2');
    expect(copiesIn(app)).toBeGreaterThan(0);
    for (let i = 0; i < KINDS; i++) app.createScope({ tags: [`tenant ${i}`] });

    expect(copiesIn(app)).toBe(0);
    expect(withKey().resolve('link 2')).toMatchObject({ needed: [{ needed: ['registered'] }] });
  });
});

it('a registration added later does not make the application look through all values again', () => {
  const disposable = Registration.fromFactory(() => ({ dispose() {} })).pipe(singleton());
  const app = openApplication(Registration.fromValue({}).to('IValue'), disposable.to('IFirst'));
  app.resolve('IFirst');
  const looked = vi.spyOn(inside(app).bindings, 'values');
  const given = { dispose: vi.fn<() => void>() };
  app.addRegistration(Registration.fromValue(given).to('IGiven'), disposable.to('ISecond'));
  app.addRegistration(
    Registration.fromFactory((same) => same, ['IGiven'])
      .pipe(singleton())
      .to('ISame'),
  );

  expect([app.resolve('ISecond'), app.resolve('ISame')]).toHaveLength(2);
  expect(looked).not.toHaveBeenCalled();
  void app.dispose();
  expect(given.dispose).not.toHaveBeenCalled();
});

const fresh = Registration.fromFactory(() => ({}));

describe('a warm plan', () => {
  it('still refuses on the application what only requests have', () => {
    const app = openApplication(
      fresh.pipe(singleton(), perRequest).to('IAudit'),
      Registration.fromFactory((audit) => ({ audit }), ['IAudit']).to('IHandler'),
    );
    const cold = ['IAudit', 'IHandler'].map((key) => refusal(() => app.resolve(key)).message);
    for (let i = 0; i < OFTEN; i++) openRequest(app).resolve('IHandler');
    const warm = ['IAudit', 'IHandler'].map((key) => refusal(() => app.resolve(key)).message);

    expect(warm).toEqual(cold);
  });

  it('keeps every lifetime on the 1st, the 2nd and the 2,100th scope of a shape', () => {
    const app = openApplication(
      fresh.pipe(singleton()).to('application'),
      fresh.pipe(singleton(), perRequest).to('request'),
      fresh.pipe(singleton(), scope(hasTag('transaction'))).to('transaction'),
      fresh.to('new'),
      Registration.fromFactory(
        (...needs: unknown[]) => needs,
        ['application', 'request', 'transaction', 'new', 'hand'],
      ).to('all'),
    );
    const shared = app.resolve('application');
    for (let i = 0; i < OFTEN; i++) {
      const request = openRequest(app);
      const transaction = openTransaction(request).register('hand', () => i);
      const [application, ofRequest, ofTransaction, made, hand] = transaction.resolve<unknown[]>('all');

      expect(hand).toBe(i);
      expect(application).toBe(shared);
      expect(ofRequest).toBe(request.resolve('request'));
      expect(ofTransaction).toBe(transaction.resolve('transaction'));
      expect(new Set([application, ofRequest, ofTransaction, made, transaction.resolve('new')]).size).toBe(5);
      expect(refusal(() => request.resolve('transaction')).code).toBe('AMBIT_OUT_OF_SCOPE');
    }
  });
});
