import type { LeakGroup } from '../../src/wire.js';
import { h } from '../dom.js';
import { age, count, lastOf } from '../format.js';
import type { GraphIndex } from './graph-index.js';
import { groupBy } from '../group-by.js';

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
