import type { LeakGroup } from '../../src/wire.js';
import { h } from '../dom.js';
import { age, count, lastOf, lifetimeOf } from '../format.js';

const NONE = 'None: each scope of a request that is complete is disposed, or is not older than the limit.';

/** Said where the line of code that opened a scope is not known. */
export function openedBefore(always: boolean): string {
  return always
    ? 'It was opened before the inspector was created.'
    : 'It was opened before the recording began. The option always: true records from the start.';
}

/** Scopes that leaked, by the place in the code that opened them. */
export class LeaksCard {
  readonly element = h('section', { class: 'card leaks' });
  readonly #open: (request: number) => void;
  #drawn = '';

  constructor(open: (request: number) => void) {
    this.#open = open;
  }

  show(leaks: readonly LeakGroup[], always: boolean): void {
    const texts = leaks.map((leak) => ({ ...leak, age: age(leak.age) }));
    const drawn = JSON.stringify([texts, always]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    // The focus must survive the redraw.
    const focused = this.element.contains(document.activeElement)
      ? document.activeElement?.getAttribute('data-leak')
      : null;
    this.element.replaceChildren(
      h('h2', {}, 'Leaks, by the line that opened them'),
      ...(leaks.length > 0 ? leaks.map((leak) => this.#group(leak, always)) : [h('p', { class: 'hint' }, NONE)]),
    );
    if (focused) this.element.querySelector<HTMLElement>(`[data-leak="${focused}"]`)?.focus();
  }

  #group({ box, where, open, age: oldest, requests }: LeakGroup, always: boolean): HTMLElement {
    const lines = where.length > 0 ? where : [openedBefore(always)];
    const links = requests.map((id) => {
      const link = h('button', { class: 'link', 'data-leak': String(id) }, `request ${id}`);
      link.addEventListener('click', () => this.#open(id));
      return link;
    });
    return h(
      'div',
      { class: 'leak' },
      h(
        'p',
        {},
        h('b', {}, count(open)),
        h('span', { class: 'chip', 'data-lifetime': lifetimeOf(box), title: box }, lastOf(box)),
        h('span', { class: 'hint' }, `the oldest ${age(oldest)}`),
      ),
      h('div', { class: 'where' }, ...lines.map((line) => h('code', {}, line))),
      h('p', { class: 'leak-requests' }, ...links),
    );
  }
}
