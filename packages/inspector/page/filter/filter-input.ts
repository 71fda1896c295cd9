import { h } from '../dom.js';
import { type Known, type Suggestion, suggestionsFor } from './filter.js';
import { readStored, writeStored } from '../navigation.js';

const STORED = 'ambit-inspector-filters';
const MOST_RECENT = 6;

export interface FilterInputParts {
  readonly known: () => Omit<Known, 'recent'>;
  readonly onInput: (text: string) => void;
}

/** A field for the filter that says how it can go on: a combobox, whose suggestions arrow keys choose. */
export class FilterInput {
  readonly element: HTMLElement;
  readonly #input = h('input', {
    type: 'search',
    id: 'filter',
    role: 'combobox',
    placeholder: 'Filter: post status:5xx is:slow …',
    'aria-label': 'Filter',
    'aria-expanded': 'false',
    'aria-controls': 'filter-suggestions',
    'aria-autocomplete': 'list',
    'aria-describedby': 'filter-problem',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    enterkeyhint: 'search',
  });
  readonly #list = h('ul', { id: 'filter-suggestions', role: 'listbox', 'aria-label': 'Suggestions', hidden: '' });
  readonly #problem = h('p', { id: 'filter-problem', class: 'filter-problem', role: 'status', hidden: '' });
  readonly #parts: FilterInputParts;
  #suggestions: Suggestion[] = [];
  #at = -1;

  constructor(parts: FilterInputParts) {
    this.#parts = parts;
    this.element = h('div', { class: 'filter' }, this.#input, this.#list, this.#problem);
    this.#input.addEventListener('input', () => {
      parts.onInput(this.#input.value);
      this.#suggest();
    });
    this.#input.addEventListener('focus', () => this.#suggest());
    this.#input.addEventListener('click', () => this.#suggest());
    this.#input.addEventListener('blur', () => {
      this.#close();
      this.#remember();
    });
    this.#input.addEventListener('keydown', (event) => this.#onKey(event));
    // Before the field loses the focus.
    this.#list.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      const index = event.target instanceof Element && event.target.closest('li')?.dataset['index'];
      if (index) this.#accept(Number(index));
    });
  }

  get text(): string {
    return this.#input.value;
  }

  set text(text: string) {
    if (text !== this.#input.value) this.#input.value = text;
  }

  focus(): void {
    this.#input.focus();
    this.#input.select();
  }

  tell(problem: string | undefined): void {
    this.#problem.hidden = problem === undefined;
    this.#problem.textContent = problem ?? '';
    this.#input.setAttribute('aria-invalid', String(problem !== undefined));
  }

  #suggest(): void {
    this.#suggestions = suggestionsFor(this.text, { recent: recentFilters(), ...this.#parts.known() });
    this.#at = -1;
    const items = this.#suggestions.map(({ label, about }, i) =>
      h(
        'li',
        { role: 'option', id: `suggestion-${i}`, 'data-index': String(i), 'aria-selected': 'false' },
        h('code', {}, label),
        about !== '' && h('span', {}, about),
      ),
    );
    this.#list.replaceChildren(...items);
    this.#setOpen(items.length > 0);
  }

  #close(): void {
    this.#at = -1;
    this.#setOpen(false);
  }

  #setOpen(open: boolean): void {
    this.#list.hidden = !open;
    this.#input.setAttribute('aria-expanded', String(open));
    this.#input.removeAttribute('aria-activedescendant');
  }

  #choose(index: number): void {
    this.#list.children[this.#at]?.setAttribute('aria-selected', 'false');
    this.#at = index;
    const item = this.#list.children[index];
    item?.setAttribute('aria-selected', 'true');
    item?.scrollIntoView({ block: 'nearest' });
    if (item) this.#input.setAttribute('aria-activedescendant', item.id);
  }

  #accept(index: number): void {
    const suggestion = this.#suggestions[index];
    if (!suggestion) return;
    this.text = suggestion.text;
    this.#parts.onInput(this.text);
    this.#suggest();
  }

  #onKey(event: KeyboardEvent): void {
    const open = !this.#list.hidden;
    const last = this.#suggestions.length - 1;
    if (event.key === 'ArrowDown' && open) this.#choose(this.#at >= last ? 0 : this.#at + 1);
    else if (event.key === 'ArrowUp' && open) this.#choose(this.#at <= 0 ? last : this.#at - 1);
    else if (event.key === 'Enter' && this.#at >= 0) this.#accept(this.#at);
    else if (event.key === 'Enter') {
      this.#close();
      this.#remember();
    } else if (event.key === 'Escape' && open) this.#close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #remember(): void {
    const text = this.text.trim();
    const isWrong = this.#input.getAttribute('aria-invalid') === 'true';
    if (text === '' || isWrong) return;
    writeStored(STORED, [text, ...recentFilters().filter((recent) => recent !== text)].slice(0, MOST_RECENT));
  }
}

function recentFilters(): string[] {
  const stored = readStored(STORED);
  return Array.isArray(stored) ? stored.filter((text) => typeof text === 'string') : [];
}
