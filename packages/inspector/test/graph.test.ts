import { describe, expect, it } from 'vitest';
import { Container, hasTag, optional, Registration, scope, singleton } from '@ambit/container';
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
    expect(problems.map(({ code, nodes: about }) => [code, ...new Set(about.map(keyOf))])).toEqual([
      ['AMBIT_NOT_REGISTERED', 'IMissing', 'ICache'],
      ['AMBIT_CAPTIVE_DEPENDENCY', 'IUsers', 'IClock'],
    ]);
    expect(edges.filter(({ problem }) => problem).map(({ from, to }) => [keyOf(from), keyOf(to)])).toEqual([
      ['ICache', 'IMissing'],
      ['IClock', 'IUsers'],
    ]);
  });

  it('has the path of a split key, and what the service does not use', () => {
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
    expect(problems.map(({ code, path, unused }) => [code, path.map(nameOf), unused.map(nameOf)])).toEqual([
      [
        'AMBIT_SPLIT_KEY',
        ['ILedger of application > request', 'IQueryable of application > request'],
        ['IQueryable of application > request > transaction'],
      ],
    ]);
    expect(edges.filter(({ problem }) => problem).map(({ from, to }) => [nameOf(from), nameOf(to)])).toEqual([
      ['ILedger of application > request', 'IQueryable of application > request'],
    ]);
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

  it('notes an optional dependency that is registered nowhere, for its services and for its key', () => {
    const app = new Container({ tags: ['application'] }).addRegistration(
      Registration.fromValue(new FakePool()).to('IDatabasePool'),
      make().to('ITemplates'),
      Registration.fromFactory(() => ({}), [optional('ITemplate'), optional('IClock')]).to('IMails'),
      make()
        .pipe(singleton(), scope(hasTag('request')))
        .to('IClock'),
    );
    const drawing = new Drawing(app, [SCOPES]);
    const message = "IMails: 'ITemplate' is optional, and registered nowhere: a spelling of 'ITemplates'?";
    const { nodes, notes, problems } = drawing.view();
    const mails = nodes.find(({ key }) => key === 'IMails');
    expect(problems).toEqual([]);
    expect(notes).toEqual([{ key: 'ITemplate', message, nodes: [mails?.id] }]);
    expect(drawing.explain('ITemplate')).toBe(message);
    expect(drawing.explain('IMails')).toMatch(/^'IMails' in .*\n.*wins/);
    expect(drawing.explain('IMails')).toContain(message);
  });
});
