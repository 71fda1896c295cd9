import { describe, expect, it } from 'vitest';
import { all, inject, Registration, singleton } from '../src/index.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const value = (name: string) => Registration.fromValue(name);

describe('all(key)', () => {
  class Checkout {
    constructor(
      @inject('ITill') readonly till: string,
      @inject(all('IRule')) readonly rules: string[],
    ) {}
  }
  const checkout = Registration.fromClass(Checkout);

  it('injects every service of the key, beside others, none included', () => {
    const till = value('till').to('ITill');
    const app = openApplication(till, value('a').to('IRule'), value('b').to('IRule'), checkout.to('ICheckout'));

    expect(app.resolve('ICheckout')).toEqual(new Checkout('till', ['a', 'b']));
    expect(openApplication(till, checkout.to('ICheckout')).resolve('ICheckout')).toEqual(new Checkout('till', []));
  });

  it('gives a singleton what its owner sees, and a transient what the asker sees', () => {
    const app = openApplication(
      value('till').to('ITill'),
      value('application').to('IRule'),
      value('request').pipe(perRequest).to('IRule'),
      checkout.pipe(singleton()).to('IShared'),
      checkout.to('INew'),
    );
    const request = openRequest(app).addRegistration(value('extra').to('IRule'));

    expect(request.resolve<Checkout>('IShared').rules).toEqual(['application']);
    expect(request.resolve<Checkout>('INew').rules).toEqual(['application', 'request', 'extra']);
  });

  it.each([
    ['singletons', true, 20, 20],
    ['transients', false, 20, 20 * 20],
  ])('builds %s of a wide tree as often as their lifetime says', (_, kept, tops, leaves) => {
    const made = { top: 0, leaf: 0 };
    const twenty = (key: 'top' | 'leaf', needs: readonly ReturnType<typeof all>[]) =>
      Array.from({ length: 20 }, () => {
        const each = Registration.fromFactory((...inside: unknown[]) => ({ inside, number: ++made[key] }), needs);
        return (kept ? each.pipe(singleton()) : each).to(key);
      });
    const app = openApplication(...twenty('top', [all('leaf')]), ...twenty('leaf', []));

    expect(app.resolveAll('top')).toHaveLength(20);
    expect(made).toEqual({ top: tops, leaf: leaves });
  });

  it('of singletons ten levels deep does not blow up', () => {
    let made = 0;
    const app = openApplication();
    for (let level = 0; level < 10; level++) {
      const each = Registration.fromFactory(
        (below: unknown) => ({ below, number: ++made }),
        [all(`level ${level + 1}`)],
      );
      for (let i = 0; i < 20; i++) app.addRegistration(each.pipe(singleton()).to(`level ${level}`));
    }

    expect(app.resolveAll('level 0')).toHaveLength(20);
    expect(made).toBe(200);
  });
});
