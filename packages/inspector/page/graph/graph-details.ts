import type { GraphView, LeakGroup, ServiceNode } from '../../src/wire.js';
import { h } from '../dom.js';
import { age, count, duration, groupBy, lastOf, lifetimeOf } from '../format.js';
import { fetchExplanation } from '../stream/connection.js';
import type { Store } from '../stream/store.js';
import type { GraphIndex } from './graph-index.js';

type Choose = (node: string) => void;

export interface DetailActions {
  readonly choose: Choose;
  readonly focus: (depth: number | undefined) => void;
}

const DEPTHS: readonly (readonly [name: string, depth: number])[] = [
  ['1', 1],
  ['2', 2],
  ['3', 3],
  ['all', Number.POSITIVE_INFINITY],
];

/** The problems that `verify()` finds, and how to read the graph. */
export function guide(view: GraphView, choose: Choose): Node[] {
  const problems = view.problems.map(({ code, message, nodes }) => {
    const text = h('pre', {}, message);
    const name = h('button', { class: 'link' }, code);
    name.addEventListener('click', () => nodes[0] !== undefined && choose(nodes[0]));
    return h('div', { class: 'problem' }, name, text);
  });
  return [
    ...(problems.length > 0
      ? [
          h('h2', {}, `verify() finds ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`),
          ...problems,
        ]
      : []),
    legend(),
  ];
}

/** Open where there is space for it. */
function legend(): HTMLElement {
  const line = (mark: string, text: string): HTMLElement => h('li', {}, h('i', { class: mark }), text);
  const element = h(
    'details',
    { class: 'guide' },
    h('summary', {}, h('h2', {}, 'How to read this')),
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
    h(
      'p',
      { class: 'hint' },
      'Choose a service to see more. Arrow keys move between services, Escape returns here. ',
      h('kbd', {}, '/'),
      ' finds a service, ',
      h('kbd', {}, '+'),
      ' ',
      h('kbd', {}, '-'),
      ' ',
      h('kbd', {}, '0'),
      ' zoom, ',
      h('kbd', {}, 'f'),
      ' fits the graph into the window.',
    ),
  );
  element.open = matchMedia('(min-width: 901px)').matches;
  return element;
}

/** One service: its lifetime, its numbers, its dependencies and dependents, and what `explain()` says. */
export function serviceDetails(
  index: GraphIndex,
  node: ServiceNode,
  store: Store,
  { choose, focus }: DetailActions,
  depth: number | undefined,
): Node[] {
  const neighbours = (title: string, ids: readonly string[]): Node[] => {
    const links = ids.map((id) => {
      const other = index.nodes.get(id);
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
  const problems = index.view.problems.filter(({ nodes }) => nodes.includes(node.id));
  return [
    h('h2', { class: 'name' }, node.key),
    h(
      'p',
      { class: 'chips' },
      h('span', { class: 'chip', 'data-lifetime': lifetimeOf(node.box) }, lastOf(node.box)),
      ...lifetimeBadges(node),
      node.feature !== undefined && h('span', { class: 'badge' }, `feature ${node.feature}`),
    ),
    ...problems.map(({ message }) => h('div', { class: 'problem' }, h('pre', {}, message))),
    numbers(node, store),
    depthButtons(depth, focus),
    ...neighbours(
      'Depends on',
      index.dependencies(node.id).map(({ to }) => to),
    ),
    ...neighbours(
      'Used by',
      index.dependents(node.id).map(({ from }) => from),
    ),
    h('h3', {}, 'Why this one'),
    explanation,
  ];
}

/** Shows only the service and what is up to so many arrows away. */
function depthButtons(chosen: number | undefined, focus: DetailActions['focus']): HTMLElement {
  const buttons = DEPTHS.map(([name, depth]) => {
    const button = h('button', { 'aria-pressed': String(depth === chosen) }, name);
    button.addEventListener('click', () => focus(depth === chosen ? undefined : depth));
    return button;
  });
  return h(
    'div',
    { class: 'depths', role: 'group', 'aria-label': 'Show only what is so many arrows away' },
    h('span', {}, 'Only what is near'),
    ...buttons,
  );
}

/** Counted on the server since the recording began. */
export function numbers({ box, key, kind, singleton }: ServiceNode, store: Store): HTMLElement {
  if (kind === 'value') return h('p', { class: 'hint numbers' }, 'A value: the container did not create it.');
  if (kind === 'register') return h('p', { class: 'hint numbers' }, 'Registered directly on each such scope.');
  const stats = store.stats(box, key);
  const pair = (name: string, value: string): HTMLElement => h('div', {}, h('dt', {}, name), h('dd', {}, value));
  return h(
    'div',
    { class: 'numbers' },
    h(
      'dl',
      {},
      singleton && pair('alive', stats?.alive === undefined ? '–' : count(stats.alive)),
      pair('created', stats ? count(stats.created) : '–'),
      pair('average', stats ? duration(stats.averageMs) : '–'),
      pair('longest', stats ? duration(stats.longestMs) : '–'),
    ),
    !singleton &&
      h(
        'p',
        { class: 'hint' },
        'A new one for each resolve. Its scope does not keep it, so nobody knows how many are alive.',
      ),
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

/** Leaks by the box that shows them: their own, or the nearest around it. */
export function leaksByBox(index: GraphIndex, leaks: readonly LeakGroup[]): Map<string, LeakGroup[]> {
  return groupBy(leaks, ({ box }) => index.boxAround(box) ?? index.root);
}

export function countOf(leaks: readonly LeakGroup[]): number {
  return leaks.reduce((sum, { open }) => sum + open, 0);
}

/** Where the leaked scopes of a box were opened. */
export function leakDetails(leaks: readonly LeakGroup[], openRequest: (id: number) => void): Node[] {
  const all = countOf(leaks);
  return [
    h('h2', { class: 'name' }, all === 1 ? '1 leaked scope' : `${count(all)} leaked scopes`),
    h(
      'p',
      {},
      'They are still open although their request is complete. Dispose a scope in a finally block, or open it with inScope().',
    ),
    ...leaks.map((leak) => leakCard(leak, openRequest)),
  ];
}

function leakCard(
  { box, where, open, age: oldest, requests }: LeakGroup,
  openRequest: (id: number) => void,
): HTMLElement {
  const links = requests.map((id) => {
    const link = h('button', { class: 'link' }, `request ${id}`);
    link.addEventListener('click', () => openRequest(id));
    return link;
  });
  return h(
    'div',
    { class: 'problem' },
    h('strong', {}, `${count(open)} × ${lastOf(box)}, open for ${age(oldest)}`),
    where.length > 0
      ? h('pre', {}, where.join('\n'))
      : h(
          'p',
          {},
          'Opened before the recording began, so the line is unknown. The option ',
          h('code', {}, 'always: true'),
          ' records from the start.',
        ),
    links.length > 0 && h('p', { class: 'chips' }, ...links),
  );
}
