import type { GraphView, ServiceNode } from '../src/wire.js';
import { h } from './dom.js';
import { count, duration, lastOf, lifetimeOf } from './format.js';
import { fetchExplanation } from './server.js';
import type { Store } from './store.js';

interface Choose {
  (node: string | undefined): void;
}

/** The problems that `verify()` finds, and how to read the graph. */
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
      'A box is a kind of scope. Its services are created when they are first resolved, shared within the scope, and disposed with it.',
    ),
    h(
      'p',
      {},
      'An arrow means “depends on”. It may lead to a service with the same or a longer lifetime. The other way is a captive dependency.',
    ),
    h(
      'ul',
      { class: 'legend' },
      line('lamp lit', 'alive'),
      line('lamp', 'not created yet, or not known to be'),
      line('lamp dash', 'transient: a new one for each resolve'),
      line('mark good', 'COMMIT'),
      line('mark bad', 'ROLLBACK, an aborted request, a leak'),
    ),
    h('p', { class: 'hint' }, 'Choose a service to see more. Arrow keys move between services, Escape returns here.'),
  ];
}

/** One service: its lifetime, its numbers, its dependencies and dependents, and what `explain()` says. */
export function serviceDetails(view: GraphView, node: ServiceNode, store: Store, choose: Choose): Node[] {
  const neighbours = (title: string, ids: readonly string[]): Node[] => {
    const links = ids.map((id) => {
      const other = view.nodes.find((one) => one.id === id);
      const link = h('button', { class: 'link', 'data-lifetime': lifetimeOf(other?.box ?? '') }, other?.key ?? id);
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
      h('span', { class: 'chip', 'data-lifetime': lifetimeOf(node.box) }, lastOf(node.box)),
      ...lifetimeBadges(node),
    ),
    ...problems.map(({ message }) => h('div', { class: 'problem' }, h('pre', {}, message))),
    numbers(node, store),
    ...neighbours(
      'Depends on',
      view.edges.filter(({ from }) => from === node.id).map(({ to }) => to),
    ),
    ...neighbours(
      'Used by',
      view.edges.filter(({ to }) => to === node.id).map(({ from }) => from),
    ),
    h('h3', {}, 'Why this one'),
    explanation,
  ];
}

/** Counted on the server since the page was opened. */
export function numbers({ box, key, kind }: ServiceNode, store: Store): HTMLElement {
  const stats = store.stats(box, key);
  const pair = (name: string, value: string): HTMLElement => h('div', {}, h('dt', {}, name), h('dd', {}, value));
  if (kind === 'value') return h('p', { class: 'hint numbers' }, 'A value: the container did not create it.');
  if (kind === 'register') return h('p', { class: 'hint numbers' }, 'Registered directly on each such scope.');
  return h(
    'dl',
    { class: 'numbers' },
    pair('alive', stats?.alive === undefined ? '–' : count(stats.alive)),
    pair('created', stats ? count(stats.created) : '–'),
    pair('average', stats ? duration(stats.averageMs) : '–'),
    pair('longest', stats ? duration(stats.longestMs) : '–'),
  );
}

function lifetimeBadges({ kind, singleton }: ServiceNode): HTMLElement[] {
  const words = { register: 'registered directly', value: 'value', missing: 'missing', alias: 'alias' };
  if (kind !== 'class' && kind !== 'factory') return [h('span', { class: 'badge' }, words[kind])];
  return [
    h('span', { class: 'badge' }, singleton ? 'one per scope' : 'always a new one'),
    h('span', { class: 'badge' }, kind),
  ];
}
