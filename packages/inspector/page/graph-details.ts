import type { GraphView, ServiceNode } from '../src/wire.js';
import { h } from './dom.js';
import { count, duration, lastOf, lifeOf } from './format.js';
import { fetchExplanation } from './server.js';
import type { Store } from './store.js';

interface Choose {
  (node: string | undefined): void;
}

/** How the drawing is to be read, and what is wrong with it. */
export function guide(view: GraphView, choose: Choose): Node[] {
  const problems = view.problems.map(({ code, message, nodes }) => {
    const text = h('pre', {}, message);
    const name = h('button', { class: 'link' }, code);
    name.addEventListener('click', () => choose(nodes[0]));
    return h('div', { class: 'problem' }, name, text);
  });
  const line = (mark: string, text: string): HTMLElement => h('li', {}, h('i', { class: mark }), text);
  return [
    ...(problems.length > 0
      ? [
          h('h2', {}, `verify() finds ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`),
          ...problems,
        ]
      : []),
    h('h2', {}, 'How to read this'),
    h(
      'p',
      {},
      'A box is a life. What stands in it is made when it is first asked for, shared within the box, and gone with it.',
    ),
    h('p', {}, 'An arrow says “needs”. It may lead to what lives as long or longer, never the other way.'),
    h(
      'ul',
      { class: 'legend' },
      line('lamp lit', 'alive'),
      line('lamp', 'not made yet, or not known to be'),
      line('lamp dash', 'made anew each time it is asked for'),
      line('mark good', 'COMMIT'),
      line('mark bad', 'ROLLBACK, an abort, a leak'),
    ),
    h('p', { class: 'hint' }, 'Choose a service for more. Arrow keys move between them, Escape comes back here.'),
  ];
}

/** One service: how it lives, its numbers, its neighbours, and why it is the one. */
export function serviceDetails(view: GraphView, node: ServiceNode, store: Store, choose: Choose): Node[] {
  const neighbours = (title: string, ids: readonly string[]): Node[] => {
    const links = ids.map((id) => {
      const other = view.nodes.find((one) => one.id === id);
      const link = h('button', { class: 'link', 'data-life': lifeOf(other?.box ?? '') }, other?.key ?? id);
      link.addEventListener('click', () => choose(id));
      return h('li', {}, link);
    });
    return [h('h3', {}, title), h('ul', { class: 'links' }, ...(links.length > 0 ? links : [h('li', {}, 'nothing')]))];
  };
  const explanation = h('pre', { class: 'explanation' }, '…');
  fetchExplanation(node.id).then(
    (text) => (explanation.textContent = text),
    (error: unknown) => (explanation.textContent = String(error)),
  );
  const problems = view.problems.filter(({ nodes }) => nodes.includes(node.id));
  return [
    h('h2', { class: 'name' }, node.key),
    h(
      'p',
      { class: 'chips' },
      h('span', { class: 'chip', 'data-life': lifeOf(node.box) }, lastOf(node.box)),
      ...life(node),
    ),
    ...problems.map(({ message }) => h('div', { class: 'problem' }, h('pre', {}, message))),
    numbers(node, store),
    ...neighbours(
      'Needs',
      view.edges.filter(({ from }) => from === node.id).map(({ to }) => to),
    ),
    ...neighbours(
      'Needed by',
      view.edges.filter(({ to }) => to === node.id).map(({ from }) => from),
    ),
    h('h3', {}, 'Why this one'),
    explanation,
  ];
}

/** Counted on the server from the moment a page was opened. */
export function numbers({ box, key, kind }: ServiceNode, store: Store): HTMLElement {
  const stats = store.stats(box, key);
  const pair = (name: string, value: string): HTMLElement => h('div', {}, h('dt', {}, name), h('dd', {}, value));
  if (kind === 'value') return h('p', { class: 'hint numbers' }, 'A value: the container did not make it.');
  if (kind === 'register') return h('p', { class: 'hint numbers' }, 'Registered by hand on each such scope.');
  return h(
    'dl',
    { class: 'numbers' },
    pair('alive', stats ? count(stats.alive) : '–'),
    pair('made', stats ? count(stats.created) : '–'),
    pair('making it', stats ? duration(stats.averageMs) : '–'),
    pair('at most', stats ? duration(stats.longestMs) : '–'),
  );
}

function life({ kind, singleton }: ServiceNode): HTMLElement[] {
  const words = { register: 'given by hand', value: 'value', missing: 'missing', alias: 'alias' };
  if (kind !== 'class' && kind !== 'factory') return [h('span', { class: 'badge' }, words[kind])];
  return [
    h('span', { class: 'badge' }, singleton ? 'one per scope' : 'always a new one'),
    h('span', { class: 'badge' }, kind),
  ];
}
