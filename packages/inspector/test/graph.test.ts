import { describe, expect, it } from 'vitest';
import { Container, hasTag, Registration, scope, singleton } from '@ambit/container';
import { FakePool } from '@ambit/transaction/testing';
import { Drawing } from '../src/graph-view.js';
import { SCOPES } from './support/app.js';

const make = (...needs: string[]) => Registration.fromFactory(() => ({}), needs as never[]);

describe('the graph', () => {
  it('marks the services and dependencies that verify() reports', () => {
    const app = new Container({ tags: ['application'] }).addRegistration(
      Registration.fromValue(new FakePool()).to('IDatabasePool'),
      make('IMissing').pipe(singleton()).to('ICache'),
      make('IUsers').pipe(singleton()).to('IClock'),
      make()
        .pipe(singleton(), scope(hasTag('request')))
        .to('IUsers'),
    );
    const { nodes, edges, problems } = new Drawing(app, [SCOPES]).view();
    const keyOf = (id: string) => nodes.find((node) => node.id === id)?.key;
    expect(problems.map(({ code, path }) => [code, ...path.map(keyOf)])).toEqual([
      ['AMBIT_NOT_REGISTERED', 'ICache', 'IMissing'],
      ['AMBIT_CAPTIVE_DEPENDENCY', 'IClock', 'IUsers'],
    ]);
    expect(edges.filter(({ problem }) => problem).map(({ from, to }) => [keyOf(from), keyOf(to)])).toEqual([
      ['ICache', 'IMissing'],
      ['IClock', 'IUsers'],
    ]);
  });

  it('has the path of a split key', () => {
    const perRequest = [singleton(), scope(hasTag('request'))] as const;
    const app = new Container({ tags: ['application'] }).addRegistration(
      Registration.fromValue(new FakePool()).to('IDatabasePool'),
      make('IDatabasePool')
        .pipe(...perRequest)
        .to('IQueryable'),
      make('IConnection')
        .pipe(singleton(), scope(hasTag('transaction')))
        .to('IQueryable'),
      make('IQueryable')
        .pipe(...perRequest)
        .to('ILedger'),
    );
    const { nodes, edges, problems } = new Drawing(app, [SCOPES]).view();
    const nameOf = (id: string) => nodes.filter((node) => node.id === id).map(({ key, box }) => `${key} of ${box}`)[0];
    const path = ['ILedger of application > request', 'IQueryable of application > request'];
    expect(problems.map((problem) => [problem.code, problem.path.map(nameOf)])).toEqual([['AMBIT_SPLIT_KEY', path]]);
    expect(edges.filter(({ problem }) => problem).map(({ from, to }) => [from, to].map(nameOf))).toEqual([path]);
  });

  it('has the declared scopes as nested boxes, empty ones included', () => {
    const app = new Container({ tags: ['application'] });
    const scopes = [{ tags: ['request'], scopes: [{ tags: ['transaction'] }] }, { tags: ['job', 'nightly'] }];
    expect(new Drawing(app, scopes).view().boxes).toEqual([
      { id: 'application', tags: 'application' },
      { id: 'application > request', tags: 'request', parent: 'application' },
      { id: 'application > request > transaction', tags: 'transaction', parent: 'application > request' },
      { id: 'application > job, nightly', tags: 'job, nightly', parent: 'application' },
    ]);
  });

  it('shows registrations that were added later', () => {
    const app = new Container({ tags: ['application'] });
    const drawing = new Drawing(app, []);
    expect(drawing.view().nodes).toEqual([]);
    app.addRegistration(make().to('ILate'));
    expect(drawing.view().nodes.map(({ key }) => key)).toEqual(['ILate']);
  });
});
