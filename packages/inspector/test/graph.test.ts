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
});
