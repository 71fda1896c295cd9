import { h, setText } from '../dom.js';
import { hasTerm, withoutTerm, withTerm } from '../filter/filter.js';
import { FilterInput, type FilterInputParts } from '../filter/filter-input.js';
import { count } from '../format.js';

const TROUBLE = 'is:trouble';

export interface ToolsParts {
  readonly known: FilterInputParts['known'];
  readonly onFilter: (text: string) => void;
  readonly onPause: (paused: boolean) => void;
  /** Asks for the newest requests. */
  readonly onNewer: () => void;
}

export interface ListNumbers {
  readonly visible: number;
  readonly all: number;
  /** New ones since the list was paused. */
  readonly missed: number;
  /** New ones above what is visible. */
  readonly unseen: number;
}

/** What is above the list: the filter, two toggles, and how many requests there are. */
export class RequestTools {
  readonly element: HTMLElement;
  readonly #filter: FilterInput;
  readonly #trouble = toggle('Trouble only');
  readonly #pause = toggle('Pause');
  readonly #count = h('span', { class: 'count' });
  readonly #newer = h('button', { class: 'newer', title: 'Show the newest', hidden: '' });
  readonly #none = h('p', { class: 'none', role: 'status', hidden: '' });
  readonly #parts: ToolsParts;

  constructor(parts: ToolsParts) {
    this.#parts = parts;
    this.#filter = new FilterInput({ known: parts.known, onInput: parts.onFilter });
    this.#trouble.addEventListener('click', () => {
      const { text } = this.#filter;
      parts.onFilter(hasTerm(text, TROUBLE) ? withoutTerm(text, TROUBLE) : withTerm(text, TROUBLE));
    });
    this.#pause.addEventListener('click', () => this.togglePause());
    this.#newer.addEventListener('click', () => parts.onNewer());
    this.element = h(
      'div',
      { class: 'list-tools' },
      h(
        'div',
        { class: 'tools' },
        this.#filter.element,
        this.#trouble,
        this.#pause,
        h('span', { class: 'hint' }, this.#count, this.#newer),
      ),
      this.#none,
    );
  }

  get filter(): string {
    return this.#filter.text;
  }

  get paused(): boolean {
    return this.#pause.getAttribute('aria-pressed') === 'true';
  }

  focusFilter(): void {
    this.#filter.focus();
  }

  showFilter(text: string, problem: string | undefined): void {
    this.#filter.text = text;
    this.#filter.tell(problem);
    this.#trouble.setAttribute('aria-pressed', String(hasTerm(text, TROUBLE)));
  }

  togglePause(): void {
    const paused = !this.paused;
    this.#pause.setAttribute('aria-pressed', String(paused));
    this.tellLost(0);
    this.#parts.onPause(paused);
  }

  /** The list shows everything again, because it began again. */
  resume(): void {
    this.#pause.setAttribute('aria-pressed', 'false');
  }

  tell({ visible, all, missed, unseen }: ListNumbers): void {
    const hasNewer = !this.paused && unseen > 0;
    this.#newer.hidden = !hasNewer;
    this.#count.hidden = hasNewer;
    if (hasNewer) setText(this.#newer, `↑ ${count(unseen)} new`);
    else setText(this.#count, this.paused ? `${count(missed)} new` : `${count(visible)} of ${count(all)}`);
  }

  tellLost(lost: number): void {
    this.#none.hidden = lost === 0;
    setText(
      this.#none,
      `${count(lost)} of the requests that came while the list was paused are no longer kept. The option keep says how many are.`,
    );
  }
}

function toggle(text: string): HTMLButtonElement {
  return h('button', { class: 'toggle', 'aria-pressed': 'false' }, text);
}
