import { h, setText } from '../dom.js';
import { count } from '../format.js';

export interface ToolActions {
  /** Marks the services that match, and returns how many. */
  readonly search: (text: string) => number;
  /** Goes to the next match, or the one before, and returns which one it is. */
  readonly jump: (by: -1 | 1) => number;
  readonly feature: (feature: string | undefined) => void;
  readonly foldAll: (folded: boolean) => void;
  readonly unfocus: () => void;
  readonly zoom: (how: 'fit' | 'in' | 'out' | 'whole') => void;
}

/** The row below the graph: find, filter, collapse, zoom. */
export class GraphTools {
  readonly element: HTMLElement;
  readonly #search = h('input', {
    type: 'search',
    class: 'search',
    placeholder: 'Find a service',
    'aria-label': 'Find a service by key or feature',
    'aria-keyshortcuts': '/',
  });
  readonly #found = h('output', { class: 'found' });
  readonly #feature = h('select', { 'aria-label': 'Feature' });
  readonly #fold = h(
    'button',
    { class: 'fold-all', 'aria-pressed': 'false', 'aria-label': 'Collapse features' },
    'Collapse',
  );
  readonly #unfocus = h('button', { class: 'unfocus', hidden: '' });
  readonly #note = h('span', { class: 'hint note' });
  readonly #scale = h('button', { class: 'scale', title: 'Zoom to 100 % (0)' }, '100 %');
  #matches = 0;

  constructor(actions: ToolActions, menu: HTMLElement) {
    const { search, jump, feature, foldAll, unfocus, zoom } = actions;
    this.#search.addEventListener('input', () => {
      this.#matches = search(this.#search.value);
      setText(this.#found, this.#search.value.trim() === '' ? '' : `${count(this.#matches)} found`);
    });
    this.#search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && this.#matches > 0)
        setText(this.#found, `${jump(event.shiftKey ? -1 : 1) + 1} of ${count(this.#matches)}`);
      if (event.key !== 'Escape' || this.#search.value === '') return;
      // The first Escape only empties the field.
      event.stopPropagation();
      this.clearSearch();
      search('');
    });
    this.#feature.addEventListener('change', () => {
      feature(this.#feature.value === '*' ? undefined : this.#feature.value.slice(1));
    });
    this.#fold.addEventListener('click', () => foldAll(this.#fold.getAttribute('aria-pressed') !== 'true'));
    this.#unfocus.addEventListener('click', unfocus);
    this.#scale.addEventListener('click', () => zoom('whole'));
    const button = (text: string, label: string, how: 'fit' | 'in' | 'out'): HTMLElement => {
      const made = h('button', { 'aria-label': label, title: label }, text);
      made.addEventListener('click', () => zoom(how));
      return made;
    };
    this.element = h(
      'div',
      { class: 'graph-tools', role: 'group', 'aria-label': 'Graph tools' },
      h('div', { class: 'find' }, this.#search, this.#found),
      this.#feature,
      this.#fold,
      this.#unfocus,
      this.#note,
      menu,
      h(
        'div',
        { class: 'zoom', role: 'group', 'aria-label': 'Zoom' },
        button('−', 'Zoom out', 'out'),
        this.#scale,
        button('+', 'Zoom in', 'in'),
        button('Fit', 'Fit into the window', 'fit'),
      ),
    );
  }

  focusSearch(): void {
    this.#search.focus();
    this.#search.select();
  }

  clearSearch(): void {
    this.#search.value = '';
    this.#matches = 0;
    setText(this.#found, '');
  }

  /** An empty text is for services without a feature. */
  set features(features: readonly string[]) {
    const named = features.length > 0 && !(features.length === 1 && features[0] === '');
    this.#feature.hidden = !named;
    this.#fold.hidden = !named;
    this.#feature.replaceChildren(
      h('option', { value: '*' }, 'All features'),
      ...features.map((name) => h('option', { value: `=${name}` }, name === '' ? 'no feature' : name)),
    );
  }

  show(now: { feature: string | undefined; folded: boolean; focus: string | undefined; leftOut: number }): void {
    this.#feature.value = now.feature === undefined ? '*' : `=${now.feature}`;
    this.#fold.setAttribute('aria-pressed', String(now.folded));
    this.#unfocus.hidden = now.focus === undefined;
    setText(this.#unfocus, `Only around ${now.focus ?? ''} ×`);
    setText(
      this.#note,
      now.leftOut > 0 ? `${count(now.leftOut)} arrows are too many to read: choose a service to see its own.` : '',
    );
  }

  set scale(scale: number) {
    setText(this.#scale, `${Math.round(scale * 100)} %`);
  }
}
