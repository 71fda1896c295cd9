import type { Hello, KindNow, LeakGroup, Now, OpenScope } from '../../src/wire.js';
import { byId, h } from '../dom.js';
import { age, count, lastOf, lifetimeOf } from '../format.js';
import type { Store } from '../stream/store.js';
import { Timeline } from './timeline.js';

const NONE = 'None: each scope of a request that is complete is disposed, or is not older than the limit.';

/** Said where the line of code that opened a scope is not known. */
function openedBefore(always: boolean): string {
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

/** Shows the requests and scopes that are open at this moment. */
export class NowPanel {
  readonly #element = byId('now');
  readonly #store: Store;
  readonly #open: (request: number) => void;
  readonly #cards = h('div', { class: 'cards' });
  readonly #oldest = h('section', { class: 'card oldest' });
  readonly #leaks: LeaksCard;
  readonly #timeline: Timeline;
  #shown = false;

  constructor(store: Store, open: (request: number) => void) {
    this.#store = store;
    this.#open = open;
    this.#leaks = new LeaksCard(open);
    this.#timeline = new Timeline(store, open);
    this.#element.append(this.#cards, this.#timeline.element, this.#leaks.element, this.#oldest);
    store.onChange(() => this.#draw());
  }

  set shown(shown: boolean) {
    this.#shown = shown;
    this.#timeline.shown = shown;
    this.#draw();
  }

  #draw(): void {
    const { now, hello } = this.#store;
    if (!this.#shown || !now || !hello) return;
    // The focus must survive the redraw.
    const focused = document.activeElement?.getAttribute('data-request');
    this.#cards.replaceChildren(kinds(now.kinds), transactions(now), pool(now));
    this.#leaks.show(now.leaks, hello.always);
    this.#oldest.replaceChildren(...this.#scopes(now.scopes, hello));
    this.#element.querySelector<HTMLElement>(`[data-request="${focused}"]`)?.focus();
  }

  #scopes(scopes: readonly OpenScope[], { limitMs, always }: Hello): HTMLElement[] {
    const row = ({ box, age: old, atLeast, old: isOld, where, request }: OpenScope): HTMLElement => {
      const link = h('button', { class: 'link', 'data-request': String(request) }, 'its request');
      if (request !== undefined) link.addEventListener('click', () => this.#open(request));
      return h(
        'tr',
        { class: isOld ? 'old' : '' },
        h('td', {}, h('span', { class: 'chip', 'data-lifetime': lifetimeOf(box), title: box }, lastOf(box))),
        h('td', { class: 'number' }, `${atLeast ? '> ' : ''}${age(old)}`),
        h('td', {}, isOld && h('span', { class: 'badge bad' }, `older than ${age(limitMs)}`)),
        h('td', { class: 'where' }, ...whereText(isOld, where, always)),
        h('td', {}, request !== undefined && link),
      );
    };
    const rows = scopes.map(row);
    return [
      h('h2', {}, 'Open scopes, the oldest first'),
      rows.length > 0
        ? h('table', {}, head('scope', 'age', '', 'opened at', ''), h('tbody', {}, ...rows))
        : h('p', { class: 'empty' }, 'None is open. Every scope that was opened is disposed.'),
    ];
  }
}

function whereText(isOld: boolean, where: readonly string[] | undefined, always: boolean): HTMLElement[] {
  if (!isOld) return [];
  const lines = where ?? [openedBefore(always)];
  return lines.map((line) => h('code', { title: line }, line));
}

function kinds(all: readonly KindNow[]): HTMLElement {
  const rows = all.map(({ box, open, openedPerSecond, closedPerSecond }) =>
    h(
      'tr',
      {},
      h('td', {}, h('span', { class: 'chip', 'data-lifetime': lifetimeOf(box), title: box }, lastOf(box))),
      h('td', { class: 'number big' }, count(open)),
      h('td', { class: 'number' }, count(openedPerSecond)),
      h('td', { class: 'number' }, count(closedPerSecond)),
    ),
  );
  return card('Scopes', h('table', {}, head('', 'open', 'opened/s', 'closed/s'), h('tbody', {}, ...rows)));
}

function transactions({ transactions: all }: Now): HTMLElement {
  const line = (name: string, number: number, mood = ''): HTMLElement =>
    h('div', {}, h('dt', {}, name), h('dd', { class: number > 0 ? mood : '' }, count(number)));
  return card(
    'Transactions',
    figure(all.open, 'open'),
    h(
      'dl',
      { class: 'tally' },
      line('committed', all.committed, 'good'),
      line('rolled back', all['rolled back'], 'bad'),
      line('no connection', all.refused, 'bad'),
      line('commit unknown', all.unknown, 'bad'),
    ),
  );
}

function pool({ pool: size }: Now): HTMLElement {
  if (!size) return card('Connections', h('p', { class: 'empty' }, 'No IDatabasePool that reports its size.'));
  const inUse = size.open - size.idle;
  const lamps = Array.from({ length: Math.min(size.open, 60) }, (_, i) =>
    h('i', { class: i < inUse ? 'lamp lit' : 'lamp' }),
  );
  return card(
    'Connections',
    figure(inUse, `in use, of ${count(size.open)}`),
    h('p', { class: 'lamps' }, ...lamps),
    h(
      'p',
      {},
      h('span', { class: size.waiting > 0 ? 'badge warn' : 'badge' }, `${count(size.waiting)} waiting for one`),
    ),
  );
}

/** The unit is below the number, so that it does not move when the number grows. */
function figure(number: number, what: string): HTMLElement {
  return h('p', { class: 'figure' }, h('b', {}, count(number)), what);
}

function card(title: string, ...content: readonly Node[]): HTMLElement {
  return h('section', { class: 'card' }, h('h2', {}, title), ...content);
}

function head(...names: readonly string[]): HTMLElement {
  return h('thead', {}, h('tr', {}, ...names.map((name) => (name === '' ? h('td') : h('th', { scope: 'col' }, name)))));
}
