import { describe, expect, it } from 'vitest';
import { all, hasTag, inject, lazy, Registration, scope, singleton } from '../src/index.js';
import { explain, graph, type Graph, type ScopeDeclaration } from '../src/tools.js';
import { asking, request } from './support/asking.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const perTransaction = scope(hasTag('transaction'));

/** `application/IPool`, for a service and the innermost tag of the scope that has it. */
const nodesOf = ({ nodes }: Graph) =>
  new Map(
    nodes.map(({ id, key, scope: tags }) => [
      id,
      `${String(tags.at(-1))}/${typeof key === 'function' ? key.name : String(key)}`,
    ]),
  );

const edgesOf = (drawn: Graph) => {
  const names = nodesOf(drawn);
  return drawn.edges.map(({ from, to, kind }) => `${names.get(from)} ${kind} ${names.get(to)}`).toSorted();
};

const missingIn = (drawn: Graph) => drawn.nodes.filter(({ kind }) => kind === 'missing').map(({ key }) => key);

describe('the graph', () => {
  it('has every service once, in the scope that owns it', () => {
    const app = openApplication(
      asking().pipe(singleton()).to('IPool'),
      asking('IPool').pipe(singleton(), perRequest).to('IUsers'),
      Registration.fromValue(1).to('ISize'),
      Registration.fromFactory(() => 1)
        .pipe(perTransaction)
        .to('ISavepoint'),
      Registration.alias('IPool').to('IOther'),
    );
    const { nodes } = graph(app, request);

    expect(nodes.map(({ key, kind, singleton: single, scope: tags }) => [key, kind, single, tags.at(-1)?.[0]])).toEqual(
      [
        ['IPool', 'class', true, 'application'],
        ['ISize', 'value', false, 'application'],
        ['IOther', 'alias', false, 'application'],
        ['IUsers', 'class', true, 'request'],
        ['ISession', 'register', false, 'transaction'],
        ['ISavepoint', 'factory', false, 'transaction'],
      ],
    );
    expect(nodes.at(-1)?.scope).toEqual([['application'], ['request'], ['transaction']]);
  });

  it('has an arrow from each service to what it asks for, at the owner it would get it from', () => {
    const app = openApplication(
      asking().pipe(singleton()).to('IPool'),
      asking('IPool', lazy('IOrders')).pipe(singleton(), perRequest).to('IUsers'),
      asking('IUsers', 'ISession', all('IRule')).pipe(singleton(), perTransaction).to('IOrders'),
      asking().to('IRule'),
      asking().pipe(perRequest).to('IRule'),
      Registration.alias('IPool').to('IOther'),
      Registration.fromFactory((pool) => pool, ['IPool']).to('IReplica'),
      asking(all('INobody')).to('IHooks'),
    );

    expect(edgesOf(graph(app, request))).toEqual([
      'application/IOther one application/IPool',
      'application/IReplica one application/IPool',
      'request/IUsers lazy transaction/IOrders',
      'request/IUsers one application/IPool',
      'transaction/IOrders all application/IRule',
      'transaction/IOrders all request/IRule',
      'transaction/IOrders one request/IUsers',
      'transaction/IOrders one transaction/ISession',
    ]);
  });

  it('draws a missing key where it is missed', () => {
    const drawn = graph(openApplication(asking('IClock').pipe(singleton(), perRequest).to('IAudit')), request);

    expect(edgesOf(drawn)).toEqual(['request/IAudit one request/IClock']);
    expect(missingIn(drawn)).toEqual(['IClock']);
  });

  it('draws a captive dependency in the scope below, which has it', () => {
    const app = openApplication(
      asking().pipe(singleton(), perRequest).to('IUser'),
      asking('IUser').pipe(singleton()).to('ICache'),
    );
    const drawn = graph(app, request);

    expect(edgesOf(drawn)).toEqual(['application/ICache one request/IUser']);
    expect(missingIn(drawn)).toEqual([]);
  });

  it('goes on through classes that nobody registered', () => {
    class Inner {}
    class Outer {
      constructor(@inject(Inner) readonly inner: Inner) {}
    }

    expect(edgesOf(graph(openApplication(asking(Outer).to('IRoot'))))).toEqual([
      'application/IRoot one application/Outer',
      'application/Outer one application/Inner',
    ]);
  });

  it('makes nothing and changes nothing', () => {
    let made = 0;
    const app = openApplication(
      Registration.fromFactory(() => ++made)
        .pipe(singleton())
        .to('IPool'),
    );
    const live = openRequest(app).register('IUser', () => 'Ada');
    const before = String(explain(live, 'IUser'));
    const declared: ScopeDeclaration = { tags: ['request'], registers: ['IUser', 'IPool'] };

    expect(graph(app, declared)).toEqual(graph(app, declared));
    expect(String(explain(live, 'IUser'))).toBe(before);
    expect(openRequest(app).resolve('IPool')).toBe(1);
  });
});
