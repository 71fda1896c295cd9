import { describe, expect, it } from 'vitest';
import { all, lazy, Registration, singleton } from '../src/index.js';
import { graph, toMermaid } from '../src/tools.js';
import { asking, request } from './support/asking.js';
import { openApplication, perRequest } from './support/scopes.js';

const LINE =
  /^(flowchart (LR|TD|TB)| *subgraph \w+ ?\["[^"]*"\]| *\w+(\["[^"]*"\]|\{\{"[^"]*"\}\})| *end| *\w+ (-->|-\.->|==>) \w+)$/;

/** What a reader of the drawing sees in place of `#quot;`, `#35;` and the like. */
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
    const text = toMermaid(graph(app, request));
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
