import { describe, expect, it } from 'vitest';
import { lazy, singleton } from '../src/index.js';
import { verify } from '../src/tools.js';
import { asking, request } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

describe('what is asked for with lazy does not hide a problem from verify', () => {
  it.each([
    ['lazy after the service', ['IContext', lazy('IScheduler')]],
    ['lazy before the service', [lazy('IScheduler'), 'IContext']],
  ])('a captive dependency: %s', (_, needs) => {
    const app = openApplication(
      asking().pipe(singleton(), perRequest).to('IContext'),
      asking(...needs).to('IOrders'),
      asking('IOrders').pipe(singleton()).to('IScheduler'),
    );
    const { problems } = refusal(() => verify(app, request));

    expect(problems.map(({ code, key }) => [code, key])).toEqual([['AMBIT_CAPTIVE_DEPENDENCY', 'IContext']]);
    expect(refusal(() => openRequest(app).resolve('IScheduler')).code).toBe('AMBIT_CAPTIVE_DEPENDENCY');
  });

  it.each([
    ['lazy before the service', [lazy('B'), 'B']],
    ['lazy after the service', ['B', lazy('B')]],
  ])('a circular dependency: %s', (_, needs) => {
    const app = openApplication(
      asking(...needs)
        .pipe(singleton())
        .to('A'),
      asking('A').pipe(singleton()).to('B'),
    );
    const { problems } = refusal(() => verify(app));

    expect(problems.map(({ code }) => code)).toEqual(['AMBIT_CYCLE']);
    expect(refusal(() => app.resolve('A')).code).toBe('AMBIT_CYCLE');
  });

  it('nothing registered for what a lazy asks for, of which another service already asks with lazy', () => {
    const app = openApplication(
      asking(lazy('IOrders')).to('IReports'),
      asking(lazy('IReports'), 'IMissing').to('IOrders'),
    );

    expect(refusal(() => verify(app)).problems.map(({ code, key }) => [code, key])).toEqual([
      ['AMBIT_NOT_REGISTERED', 'IMissing'],
    ]);
  });
});
