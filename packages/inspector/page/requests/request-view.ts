import type { RequestDetails } from '../../src/wire.js';
import { CodePlaces } from './code-places.js';
import { type ComparedWith, comparison } from './comparison.js';
import { h } from '../dom.js';
import { headingOf, timeBar } from './request-heading.js';
import { problemsOf } from './request-problems.js';
import { statementList } from './statement-list.js';
import { waterfall } from './waterfall.js';

/** Everything about one request. What the user has opened in it stays so, while the request goes on. */
export class RequestView {
  readonly #places = new CodePlaces();
  readonly #slowMs: () => number;
  readonly #opened = new Set<string>();
  readonly #unfolded = new Set<string>();
  readonly #settings = this.#places.settings(() => this.#redraw());
  readonly #content = h('div', { class: 'request-view' });
  readonly #element: HTMLElement;
  #request: RequestDetails | undefined;
  #compared: ComparedWith | undefined;

  constructor(element: HTMLElement, slowMs: () => number) {
    this.#element = element;
    this.#slowMs = slowMs;
  }

  /** Forgets what was opened: another request is shown next. */
  clear(...instead: readonly Node[]): void {
    this.#request = undefined;
    this.#compared = undefined;
    this.#opened.clear();
    this.#unfolded.clear();
    this.#element.replaceChildren(...instead);
  }

  /** Shows it beside another request, or alone again. */
  compare(other: ComparedWith | undefined): void {
    this.#compared = other;
    if (other) this.#element.scrollTop = 0;
    this.#redraw();
  }

  show(request: RequestDetails): void {
    this.#request = request;
    const parts = [
      this.#compared && comparison(request, this.#compared, () => this.compare(undefined)),
      headingOf(request, this.#slowMs()),
      ...problemsOf(request, this.#places),
      timeBar(request),
      statementList(request, this.#places, this.#opened),
      waterfall(request, this.#unfolded),
      request.dropped > 0 && h('p', { class: 'hint' }, `and ${request.dropped} more steps, which were not kept`),
    ];
    this.#content.replaceChildren(...parts.filter((part) => part !== undefined && part !== false));
    // The settings keep their place and the focus.
    if (this.#settings.parentElement !== this.#element) this.#element.replaceChildren(this.#content, this.#settings);
  }

  #redraw(): void {
    if (this.#request) this.show(this.#request);
  }
}
