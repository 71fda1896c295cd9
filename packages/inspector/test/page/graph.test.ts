import { describe, expect, it } from 'vitest';
import { GraphIndex } from '../../page/graph/graph-index.js';
import { layOut, way } from '../../page/graph/graph-layout.js';
import type { GraphView, ServiceNode } from '../../src/wire.js';

const REQUEST = 'application > request';
const WINDOW = { width: 1040, height: 640 };
const PHONE = { width: 366, height: 520 };

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

describe('the index of a graph', () => {
  const index = new GraphIndex(view);

  it('has the boxes within each other, with their services by feature', () => {
    const [root] = index.roots;
    const groups = root!.inner[0]!.groups.map(({ feature, nodes }) => [feature, nodes.map(({ key }) => key)]);
    expect([root!.box.id, Object.fromEntries(groups)]).toEqual([
      'application',
      { users: ['IUsers', 'IUserMail'], orders: ['IOrders'] },
    ]);
  });

  it('finds the service that a scope gets for a key, also of a scope around it', () => {
    const ids = ['IOrders', 'IPool', 'INothing'].map((key) => index.idOf(`${REQUEST} > transaction`, key));
    expect(ids).toEqual(['IOrders', 'IPool', undefined]);
    expect(index.boxAround(`${REQUEST} > job`)).toBe(REQUEST);
  });
});

describe('the layout', () => {
  const many = (services: number, features: number): GraphIndex =>
    new GraphIndex({
      ...view,
      nodes: Array.from({ length: services }, (_, i) =>
        node(
          `IService${i}`,
          i % 2 === 0 ? 'application' : REQUEST,
          features > 0 ? `feature ${i % features}` : undefined,
        ),
      ),
      edges: [],
    });

  it.for([
    [5, 0],
    [40, 3],
    [200, 0],
    [1000, 12],
  ] as const)('puts no service upon another, each within its box: %j', ([services, features]) => {
    for (const space of [WINDOW, PHONE]) {
      const { places } = layOut(many(services, features), space);
      const all = Array.from({ length: services }, (_, i) => places.get(`IService${i}`)!);
      expect(new Set(all.map(({ x, y }) => `${x} ${y}`)).size).toBe(services);
      for (const [i, one] of all.entries()) {
        const box = places.get(i % 2 === 0 ? 'application' : REQUEST)!;
        expect(one.x > box.x && one.y > box.y).toBe(true);
        expect(one.x + one.width < box.x + box.width && one.y + one.height < box.y + box.height).toBe(true);
        const near = all.filter((other) => other !== one && Math.abs(other.x - one.x) < one.width);
        expect(near.filter((other) => Math.abs(other.y - one.y) < one.height)).toEqual([]);
      }
    }
  });

  it.for([
    ['a window', 10, 0, WINDOW],
    ['a window', 60, 0, WINDOW],
    ['a window', 200, 0, WINDOW],
    ['a window', 200, 20, WINDOW],
    ['a phone', 10, 0, PHONE],
  ] as const)('fits into %s, large enough to read: %i services of %i features', ([, services, features, space]) => {
    const { width, height, scale } = layOut(many(services, features), space);
    expect(width * scale).toBeLessThanOrEqual(space.width + 0.01);
    expect(height * scale).toBeLessThanOrEqual(space.height + 0.01);
    expect(scale).toBeGreaterThan(0.66);
  });

  it('is as wide as a window in which not all of it can be read, and readable', () => {
    const { width, height, scale } = layOut(many(300, 0), PHONE);
    expect(width * scale).toBeLessThanOrEqual(PHONE.width + 0.01);
    expect(height * scale).toBeGreaterThan(PHONE.height);
    expect(scale).toBeGreaterThan(0.66);
  });
});

describe('an arrow', () => {
  const at = (x: number, y: number) => ({ x, y, width: 100, height: 40 });

  it('leads to the left to a longer lifetime, to the right to a captive dependency, and around what is in one column', () => {
    expect(way(at(300, 0), at(0, 0))).toMatch(/^M300 20 C.* 101 20$/);
    expect(way(at(0, 0), at(300, 0))).toMatch(/^M100 20 C.* 299 20$/);
    expect(way(at(0, 0), at(0, 100))).toMatch(/^M0 20 C-15 .* -1 120$/);
  });
});
