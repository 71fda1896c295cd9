import { describe, expect, it } from 'vitest';
import { Registration, all, inject, singleton } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction } from './support/scopes.js';

const value = (name: string) => Registration.fromValue(name);

describe('resolveAll', () => {
  it('gives a list of its own to each caller', () => {
    const app = openApplication(value('a').to('IHook'));
    app.resolveAll('IHook').push('mine');
    app.resolveAll('none').push('mine');

    expect(app.resolveAll('IHook')).toEqual(['a']);
    expect(app.resolveAll('none')).toEqual([]);
  });

  it('goes from the outermost scope inward: the application’s, then the request’s, then the transaction’s', () => {
    const app = openApplication(value('application').to('IHook'));
    const request = openRequest(app).addRegistration(value('request').to('IHook'));
    const transaction = openTransaction(request).addRegistration(value('transaction').to('IHook'));

    expect(transaction.resolveAll('IHook')).toEqual(['application', 'request', 'transaction']);
    expect(request.resolveAll('IHook')).toEqual(['application', 'request']);
    expect(openTransaction(request).resolveAll('IHook')).toEqual(['application', 'request']);
    expect(app.resolveAll('IHook')).toEqual(['application']);
    expect(openRequest(app).resolveAll('IHook')).toEqual(['application']);
  });

  it('fails as a whole with one member, and names the path', () => {
    const broken = Registration.fromFactory((missing) => missing, ['IMissing']);
    const app = openApplication(value('a').to('IHook'), broken.to('IHook'), value('c').to('IHook'));

    const error = refusal(() => app.resolveAll('IHook'));
    expect(error).toMatchObject({ code: 'AMBIT_NOT_REGISTERED', path: ['IHook', 'IMissing'] });
  });
});

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
});
