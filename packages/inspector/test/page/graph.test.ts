import { describe, expect, it } from 'vitest';
import {
  type Choices,
  GraphIndex,
  groupId,
  NOTHING_CHOSEN,
  searchServices,
  shownOf,
} from '../../page/graph/graph-index.js';
import { layOut } from '../../page/graph/graph-layout.js';
import { toMermaid, toSvg } from '../../page/graph/graph-drawing.js';
import type { GraphView, ServiceNode } from '../../src/wire.js';

const REQUEST = 'application > request';

const node = (id: string, box: string, feature?: string): ServiceNode => ({
  id,
  key: id,
  box,
  kind: 'class',
  singleton: true,
  ...(feature !== undefined && { feature }),
});
const edge = (from: string, to: string) => ({ from, to, kind: 'one' as const, problem: false });

const view: GraphView = {
  boxes: [
    { id: 'application', tags: 'application' },
    { id: REQUEST, tags: 'request', parent: 'application' },
  ],
  nodes: [
    node('IPool', 'application'),
    node('IClock', 'application'),
    node('IUsers', REQUEST, 'users'),
    node('IUserMail', REQUEST, 'users'),
    node('IOrders', REQUEST, 'orders'),
  ],
  edges: [edge('IUsers', 'IPool'), edge('IUserMail', 'IUsers'), edge('IOrders', 'IUsers'), edge('IOrders', 'IPool')],
  problems: [],
};
const index = new GraphIndex(view);
const shown = (choices: Partial<Choices>) => shownOf(index, { ...NOTHING_CHOSEN, ...choices });
const seen = (choices: Partial<Choices>) => [...shown(choices).drawnAs.keys()].toSorted();
const arrows = (choices: Partial<Choices>) => shown(choices).edges.map(({ from, to }) => [from, to]);

describe('the part of the graph that is shown', () => {
  it('is all of it, as long as nothing is chosen', () => {
    expect(seen({})).toEqual(['IClock', 'IOrders', 'IPool', 'IUserMail', 'IUsers']);
    expect(arrows({})).toHaveLength(4);
  });

  it('is a service and what is up to so many arrows away, in both directions', () => {
    expect(seen({ focus: { node: 'IUserMail', depth: 1 } })).toEqual(['IUserMail', 'IUsers']);
    expect(seen({ focus: { node: 'IUserMail', depth: 2 } })).toEqual(['IPool', 'IUserMail', 'IUsers']);
    expect(seen({ focus: { node: 'IPool', depth: 1 } })).toEqual(['IOrders', 'IPool', 'IUsers']);
    expect(seen({ focus: { node: 'IPool', depth: Infinity } })).toEqual(['IOrders', 'IPool', 'IUserMail', 'IUsers']);
  });

  it('leaves out boxes without a service that is near', () => {
    const [root] = shown({ focus: { node: 'IClock', depth: 3 } }).roots;
    expect(root!.inner).toEqual([]);
  });

  it('is one feature, or what has none', () => {
    expect(seen({ feature: 'users' })).toEqual(['IUserMail', 'IUsers']);
    expect(seen({ feature: '' })).toEqual(['IClock', 'IPool']);
  });

  it('has one arrow from a collapsed feature to a service, and none within it', () => {
    const users = groupId(REQUEST, 'users');
    expect(arrows({ collapsed: new Set([users]) })).toEqual([
      [users, 'IPool'],
      ['IOrders', users],
      ['IOrders', 'IPool'],
    ]);
  });

  it('has the arrows of a collapsed box at the box', () => {
    expect(arrows({ collapsed: new Set([REQUEST]) })).toEqual([[REQUEST, 'IPool']]);
    expect(shown({ collapsed: new Set([REQUEST]) }).roots[0]!.inner[0]!.size).toBe(3);
  });

  it('keeps an arrow red when it is drawn together with others', () => {
    const wrong = { ...view, edges: view.edges.map((one) => ({ ...one, problem: one.from === 'IUsers' })) };
    const { edges } = shownOf(new GraphIndex(wrong), { ...NOTHING_CHOSEN, collapsed: new Set([REQUEST]) });
    expect(edges).toEqual([{ from: REQUEST, to: 'IPool', kind: 'one', problem: true }]);
  });
});

describe('the search', () => {
  const found = (text: string) => searchServices(view.nodes, text).map(({ key }) => key);

  it('finds every word in the key or the feature, those that start with it first', () => {
    expect(found('user')).toEqual(['IUsers', 'IUserMail']);
    expect(found('orders')).toEqual(['IOrders']);
    expect(found('users mail')).toEqual(['IUserMail']);
    expect(found('ock')).toEqual(['IClock']);
    expect(found('m')[0]).toBe('IUserMail');
    expect(found('  ')).toEqual([]);
  });
});

describe('the layout', () => {
  const many = (services: number, features: number): GraphView => ({
    ...view,
    nodes: Array.from({ length: services }, (_, i) =>
      node(`I${i}`, i % 2 === 0 ? 'application' : REQUEST, features > 0 ? `feature ${i % features}` : undefined),
    ),
    edges: [],
  });

  it.for([
    [5, 0],
    [40, 3],
    [200, 0],
    [1000, 12],
  ] as const)('puts no service upon another, each within its box: %j', ([services, features]) => {
    const { roots } = shownOf(new GraphIndex(many(services, features)), NOTHING_CHOSEN);
    const { places, width, height } = layOut({ roots, edges: [], drawnAs: new Map() });
    const all = Array.from({ length: services }, (_, i) => places.get(`I${i}`)!);
    const corners = new Set(all.map(({ x, y }) => `${x} ${y}`));
    expect(corners.size).toBe(services);
    for (const [i, one] of all.entries()) {
      const box = places.get(i % 2 === 0 ? 'application' : REQUEST)!;
      expect(one.x).toBeGreaterThan(box.x);
      expect(one.y).toBeGreaterThan(box.y);
      expect(one.x + one.width).toBeLessThan(box.x + box.width);
      expect(one.y + one.height).toBeLessThan(box.y + box.height);
      const near = all.filter((other) => other !== one && Math.abs(other.x - one.x) < one.width);
      expect(near.filter((other) => Math.abs(other.y - one.y) < one.height)).toEqual([]);
    }
    expect(width / height).toBeGreaterThan(0.5);
    expect(width / height).toBeLessThan(4);
  });
});

describe('the export', () => {
  it('is a Mermaid flowchart of what is shown, a subgraph for each box and feature', () => {
    const folded = new Set([groupId(REQUEST, 'orders')]);
    expect(toMermaid(shown({ collapsed: folded }))).toBe(`flowchart RL
  subgraph n0["application"]
    n1["IPool"]
    n2["IClock"]
    subgraph n3["request"]
      subgraph n4["users"]
        n5["IUsers"]
        n6["IUserMail"]
      end
      n7["orders (1)"]
    end
  end
  n5 --> n1
  n6 --> n5
  n7 --> n5
  n7 --> n1
`);
  });

  it('keeps keys from being read as Mermaid or as markup', () => {
    const nodes = [node('<b>"A"#1', 'application')];
    const odd = new GraphIndex({ ...view, nodes, edges: [] });
    const part = shownOf(odd, NOTHING_CHOSEN);
    expect(toMermaid(part)).toContain('["#60;b#62;#34;A#34;#35;1"]');
    expect(toSvg(part, layOut(part), COLORS)).toContain('&#60;b&#62;&#34;A&#34;#1');
  });

  it('is an SVG with every service and every arrow that is shown', () => {
    const part = shown({ feature: 'users' });
    const text = toSvg(part, layOut(part), COLORS);
    expect(text.match(/>IUser\w+</g)).toEqual(['>IUsers<', '>IUserMail<']);
    expect(text.match(/marker-end="url\(#head\)"/g)).toHaveLength(1);
  });
});

const COLORS = {
  bad: '#bad',
  line: '#111',
  muted: '#222',
  page: '#fff',
  'strong-line': '#333',
  surface: '#eee',
  text: '#000',
  lifetimes: ['#00f', '#0f0'],
  tints: ['#eef', '#efe'],
};
