import { describe, expect, it } from 'vitest';
import { all, hasTag, inject, lazy, Registration, scope, singleton } from '../src/index.js';
import { explain, graph, type Graph, override, type ScopeDeclaration, toMermaid } from '../src/tools.js';
import { asking, request as requestScope } from './support/asking.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

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
    const { nodes } = graph(app, requestScope);

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

    expect(edgesOf(graph(app, requestScope))).toEqual([
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
    const drawn = graph(openApplication(asking('IClock').pipe(singleton(), perRequest).to('IAudit')), requestScope);

    expect(edgesOf(drawn)).toEqual(['request/IAudit one request/IClock']);
    expect(missingIn(drawn)).toEqual(['IClock']);
  });

  it('draws a captive dependency in the scope below, which has it', () => {
    const app = openApplication(
      asking().pipe(singleton(), perRequest).to('IUser'),
      asking('IUser').pipe(singleton()).to('ICache'),
    );
    const drawn = graph(app, requestScope);

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

const LINE =
  /^(flowchart (LR|TD|TB)| *subgraph \w+ ?\["[^"]*"\]| *\w+(\["[^"]*"\]|\{\{"[^"]*"\}\})| *end| *\w+ (-->|-\.->|==>) \w+)$/;

/** The text that a reader of the drawing sees in place of `#quot;`, `#35;` and the like. */
const seen = (label: string): string =>
  label.replaceAll(/#(\w+);/g, (_, code: string) => NAMED[code] ?? String.fromCodePoint(Number(code)));

const NAMED: Record<string, string> = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'", nbsp: ' ' };

const labelsIn = (text: string): string[] =>
  [...text.matchAll(/^ *\w+[[{]+"(.*)"[\]}]+$/gm)].map((match) => match[1] ?? '');

describe('the graph as Mermaid text', () => {
  it('is a flowchart with one box for each scope, and each service in the box of its owner', () => {
    const app = openApplication(
      asking().pipe(singleton()).to('IPool'),
      asking('IPool').pipe(singleton(), perRequest).to('IUsers'),
    );
    const text = toMermaid(graph(app, requestScope));
    const boxes = [...text.matchAll(/subgraph \w+ ?\["(.*)"\]\n([^]*?)\n *end/g)];

    expect(text).toMatch(/^flowchart LR\n/);
    expect(boxes.map(([, title = '', inside = '']) => [seen(title), labelsIn(inside)])).toEqual([
      ['application', ['IPool']],
      ['application > request', ['IUsers']],
      ['application > request > transaction', ['ISession']],
    ]);
  });

  it('has another arrow for one, for later and for all', () => {
    const arrows = ['IRule', lazy('IRule'), all('IRule')].map((need) => {
      const text = toMermaid(graph(openApplication(asking(need).to('IUser'), asking().to('IRule'))));
      return text.split('\n').at(-1)?.trim().split(' ')[1];
    });

    expect(arrows).toEqual(['-->', '-.->', '==>']);
  });

  it('says which key is missing', () => {
    const text = toMermaid(graph(openApplication(asking('IClock').to('ITimer'))));

    expect(text).toMatch(/\{\{"IClock .*missing.*"\}\}/);
  });

  it('of an empty application is a flowchart, too', () => {
    expect(toMermaid(graph(openApplication()))).toBe('flowchart LR');
  });

  it.each([
    ['say "hello"'],
    ['<b>bold</b>'],
    ['a & b'],
    ['#35;'],
    ['#quot;'],
    ['two\nlines'],
    ['`code`'],
    ['x"] end'],
    ['end'],
    ['__proto__'],
    ['日本語'],
    ['%% comment'],
    ['back\\slash'],
  ])('shows the key %j as it is, and stays one line for each thing', (key) => {
    const text = toMermaid(graph(openApplication(asking(key, `${key}?`).to('IUser'), asking().to(key))));

    for (const line of text.split('\n')) expect(line).toMatch(LINE);
    expect(labelsIn(text).map(seen)).toContain(key);
    expect(labelsIn(text).join('')).not.toMatch(/[<`]/);
  });

  it('names symbols, classes and the empty key', () => {
    class Users {}
    const text = toMermaid(
      graph(openApplication(Registration.fromClass(Users).to(Users), asking().to(Symbol('users')), asking().to(''))),
    );

    expect(labelsIn(text).map(seen)).toEqual(['Users', 'Symbol(users)', "''"]);
  });
});

const APPLICATION = [['application']];
const REQUEST = [['application'], ['request']];
const perJob = scope(hasTag('job'));

describe('explain', () => {
  it('says the winner, its kind, its lifetime and its owner', () => {
    const app = openApplication(asking().pipe(singleton(), perRequest).to('IAuditLogger'));
    const explanation = explain(openTransaction(openRequest(app)), 'IAuditLogger');

    expect(explanation).toMatchObject({
      key: 'IAuditLogger',
      winner: { kind: 'class', singleton: true, owner: REQUEST },
      rejected: [],
    });
    expect(explanation.winner?.why).toMatch(/^wins\b/);
  });

  it('lists every registration that lost, and why', () => {
    const app = openApplication(
      asking().to('IUsers'),
      Registration.fromFactory(() => 1)
        .pipe(singleton())
        .to('IUsers'),
      asking().pipe(perJob).to('IUsers'),
    );
    const request = openRequest(app).addRegistration(Registration.alias('IOther').to('IUsers'));
    request.register('IUsers', () => 2);
    const { winner, rejected } = explain(request, 'IUsers');

    expect(winner).toMatchObject({ kind: 'register', singleton: false, owner: REQUEST });
    expect(rejected).toHaveLength(4);
    expect(new Set(rejected.map(({ kind, owner, why }) => [kind, owner, why]))).toEqual(
      new Set([
        ['alias', REQUEST, expect.stringMatching(/later/)],
        ['factory', APPLICATION, expect.stringMatching(/nearer/)],
        ['class', APPLICATION, expect.stringMatching(/nearer/)],
        ['class', undefined, expect.stringMatching(/predicate/)],
      ]),
    );
  });

  it.each([['IUnknown'], [''], ['__proto__'], [Symbol('unknown')]])('of the unknown key %s is empty', (key) => {
    const explanation = explain(openRequest(openApplication(asking().to('IUsers'))), key);

    expect(explanation).toMatchObject({ key, winner: undefined, rejected: [] });
    expect(String(explanation)).toMatch(/nothing/);
  });

  it('says that a class without a registration is made all the same', () => {
    class Users {}
    const explanation = explain(openApplication(), Users);

    expect(explanation.winner).toMatchObject({ kind: 'class', singleton: false });
    expect(String(explanation)).toContain('class Users');
    expect(String(explanation)).not.toMatch(/nothing wins/);
  });

  it('sees an override win over all others, while it lasts', () => {
    const app = openApplication(asking().pipe(singleton()).to('IUsers'), asking().pipe(perRequest).to('IUsers'));
    const request = openRequest(app);
    const before = String(explain(request, 'IUsers'));
    const fake = override(app, Registration.fromValue('fake').to('IUsers'));
    const { winner, rejected } = explain(request, 'IUsers');

    expect(winner).toMatchObject({
      kind: 'value',
      owner: APPLICATION,
      why: expect.stringMatching(/override/) as string,
    });
    expect(rejected.map(({ why }) => why)).toEqual([
      expect.stringMatching(/override/) as string,
      expect.stringMatching(/override/) as string,
    ]);

    fake[Symbol.dispose]();

    expect(String(explain(request, 'IUsers'))).toBe(before);
  });

  it('makes nothing', () => {
    let calls = 0;
    const count = () => ++calls;
    const app = openApplication(Registration.fromFactory(count).pipe(singleton()).to('IPool')).register('IUser', count);
    explain(app, 'IPool');
    explain(app, 'IUser');

    expect(calls).toBe(0);
  });

  it('agrees with resolve', () => {
    const tag = (kind: string) => Registration.fromValue(kind);
    const app = openApplication(
      tag('application').to('A'),
      tag('request').pipe(perRequest).to('A'),
      tag('job').pipe(perJob).to('A'),
    );
    const scopes = [
      app,
      openRequest(app),
      openTransaction(openRequest(app)),
      app.createScope({ tags: ['job', 'request'] }),
    ];

    expect(scopes.map((one) => one.resolve('A'))).toEqual(['application', 'request', 'request', 'job']);
    expect(scopes.map((one) => explain(one, 'A').winner?.owner?.at(-1))).toEqual([
      ['application'],
      ['request'],
      ['request'],
      ['job', 'request'],
    ]);
  });
});

describe('an explanation as text', () => {
  it('names the key and the scope, then the winner and the rejected ones, a line each', () => {
    const app = openApplication(asking().to('IUsers'), asking().pipe(singleton(), perRequest).to('IUsers'));
    const [first, ...lines] = String(explain(openRequest(app), 'IUsers')).split('\n');

    expect(first).toContain("'IUsers'");
    expect(first).toContain('[application] > [request]');
    expect(lines).toEqual([
      expect.stringMatching(/singleton class .*\[application\] > \[request\].*wins/),
      expect.stringMatching(/transient class .*\[application\].*rejected/),
    ]);
  });
});
