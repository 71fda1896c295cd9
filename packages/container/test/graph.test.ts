import { describe, expect, it } from 'vitest';
import { all, hasTag, inject, lazy, Registration, scope, singleton } from '../src/index.js';
import { explain, graph, override, toMermaid, verify, type Graph, type ScopeDeclaration } from '../src/tools.js';
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

  it('shows no key as missing that verify does not miss', () => {
    class WithDefault {
      constructor(
        readonly size = 10,
        @inject('IPool') readonly pool?: unknown,
      ) {}
    }
    const app = openApplication(
      asking('ISession').to('IOrders'),
      asking().to('IPool'),
      Registration.fromClass(WithDefault).to('IUsers'),
    );
    verify(app, request);
    const drawn = graph(app, request);

    expect(missingIn(drawn)).toEqual([]);
    expect(edgesOf(drawn)).toEqual([
      'application/IOrders one transaction/ISession',
      'application/IUsers one application/IPool',
    ]);
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

  it('of faulty registrations is drawn as well', () => {
    class Keyless {
      constructor(
        readonly size: number,
        @inject('B') readonly b: unknown,
      ) {}
    }
    const app = openApplication(
      asking('B').to('A'),
      asking('A', 'A').to('B'),
      asking('IContext').pipe(singleton()).to('ICache'),
      asking().pipe(singleton(), perRequest).to('IContext'),
      asking()
        .pipe(scope(hasTag('nowhere')))
        .to('INever'),
      Registration.fromClass(Keyless).to('IKeyless'),
    );
    const edges = edgesOf(graph(app, request));

    expect(edges).toEqual(
      expect.arrayContaining(['application/A one application/B', 'application/B one application/A']),
    );
    expect(edges.filter((edge) => edge.startsWith('application/B'))).toHaveLength(1);
    expect(edges).toContain('application/IKeyless one application/B');
    expect(toMermaid(graph(app, request))).not.toContain('undefined');
  });

  it('shows an override in place of what it replaces', () => {
    const app = openApplication(asking('IPool').to('IUsers'), asking('IMissing').to('IPool'));
    override(app, Registration.fromValue('fake').to('IPool'));

    expect(graph(app).nodes.map(({ key, kind }) => [key, kind])).toEqual([
      ['IUsers', 'class'],
      ['IPool', 'value'],
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

  it('starts at the container it is given', () => {
    const app = openApplication(asking().to('IPool'));
    const live = openRequest(app).register('IUser', () => 'Ada');

    expect([...nodesOf(graph(live)).values()].toSorted()).toEqual(['application/IPool', 'request/IUser']);
  });
});
