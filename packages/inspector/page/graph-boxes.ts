import type { GraphBox, GraphView, ServiceNode } from '../src/wire.js';
import { h } from './dom.js';
import { lifetimeOf } from './format.js';

export interface Boxes {
  readonly element: HTMLElement;
  readonly boxes: ReadonlyMap<string, HTMLElement>;
  readonly nodes: ReadonlyMap<string, HTMLButtonElement>;
}

/** The scopes as boxes within boxes, each with the services that it owns. */
export function drawBoxes(view: GraphView): Boxes {
  const boxes = new Map<string, HTMLElement>();
  const nodes = new Map<string, HTMLButtonElement>();
  const wrong = new Set(view.problems.flatMap((problem) => problem.nodes));

  const draw = (box: GraphBox): HTMLElement => {
    const own = inOrder(view, box.id);
    for (const node of own) nodes.set(node.id, drawNode(node, wrong.has(node.id)));
    const services = h('div', { class: 'services' }, ...own.map(({ id }) => nodes.get(id)));
    services.style.setProperty('--rows', String(Math.ceil(own.length / columnsFor(own.length))));
    const inner = view.boxes.filter(({ parent }) => parent === box.id).map(draw);
    const element = h(
      'section',
      { class: 'box', 'data-lifetime': lifetimeOf(box.id), 'data-box': box.id, 'aria-label': `scope ${box.tags}` },
      h('header', {}, h('strong', {}, box.tags), h('span', { class: 'lifetime' }, lifetimeText(box)), h('output', {})),
      h(
        'div',
        { class: 'box-body' },
        own.length > 0 && services,
        inner.length > 0 && h('div', { class: 'inner' }, ...inner),
      ),
    );
    boxes.set(box.id, element);
    return element;
  };
  const roots = view.boxes.filter(({ parent }) => parent === undefined).map(draw);
  for (const root of roots) root.classList.add('open', 'root');
  return { element: h('div', { class: 'roots' }, ...roots), boxes, nodes };
}

function drawNode({ id, key, kind, singleton }: ServiceNode, wrong: boolean): HTMLButtonElement {
  const classes = [
    'service',
    singleton || kind === 'value' || kind === 'register' ? '' : 'transient',
    wrong ? 'wrong' : '',
  ];
  return h(
    'button',
    { class: classes.filter(Boolean).join(' '), 'data-node': id, 'data-kind': kind, title: key, tabindex: '-1' },
    h('i', { class: 'lamp' }),
    h('span', { class: 'key' }, key),
  );
}

function lifetimeText({ tags, parent }: GraphBox): string {
  if (parent === undefined) return 'one, from start to shutdown';
  return tags === 'transaction' ? 'while it is open' : `one for each ${tags}`;
}

function columnsFor(services: number): number {
  if (services <= 9) return 1;
  if (services <= 30) return 2;
  return services <= 90 ? 4 : 6;
}

/** Those that use the same things stand together, which uncrosses most arrows. */
function inOrder({ nodes, edges }: GraphView, box: string): ServiceNode[] {
  const places = new Map(nodes.map(({ id }, i) => [id, i]));
  const middle = ({ id }: ServiceNode): number => {
    const targets = edges.filter(({ from }) => from === id).map(({ to }) => places.get(to) ?? 0);
    return targets.length > 0 ? targets.reduce((sum, place) => sum + place, 0) / targets.length : (places.get(id) ?? 0);
  };
  const own = nodes.filter((node) => node.box === box).map((node) => ({ node, at: middle(node) }));
  return own.toSorted((one, other) => one.at - other.at).map(({ node }) => node);
}
