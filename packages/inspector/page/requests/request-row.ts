import type { RequestSummary } from '../../src/wire.js';
import { h, setText } from '../dom.js';
import { clock, duration } from '../format.js';
import { badge, marksOf, stateMark } from './request-badges.js';

/** One row of the list, which shows one request after the other. */
export class RequestRow {
  readonly element = h('div', { class: 'request', role: 'option' });
  readonly #time = h('span', { class: 'time' });
  readonly #method = h('span', { class: 'method' });
  readonly #route = h('span', { class: 'route' });
  readonly #badges = h('span', { class: 'badges' });
  readonly #status = h('span', { class: 'status' });
  readonly #took = h('span', { class: 'took' });
  #request: RequestSummary | undefined;
  #marks = '';
  #y = NaN;

  constructor() {
    this.element.append(this.#time, this.#method, this.#route, this.#badges, this.#status, this.#took);
  }

  show(request: RequestSummary, ref: string, slowMs: number): void {
    if (request === this.#request) return;
    if (request.id !== this.#request?.id || this.element.id === '') {
      this.element.id = `request-${ref}`;
      this.element.dataset['ref'] = ref;
    }
    this.#request = request;
    const { method, route, milliseconds, arrived, trouble } = request;
    this.element.classList.toggle('trouble', trouble);
    setText(this.#time, clock(arrived));
    setText(this.#method, method);
    if (this.#route.textContent !== route) {
      this.#route.textContent = route;
      this.#route.title = route;
    }
    setText(this.#took, milliseconds === undefined ? '' : duration(milliseconds));
    this.#showMarks(request, slowMs);
  }

  /** Pixels from the top. */
  place(y: number): void {
    if (y === this.#y) return;
    this.#y = y;
    this.element.style.transform = `translateY(${y}px)`;
  }

  /** Where it is among all rows, for those who cannot see that. */
  number(position: number, size: number): void {
    setAttribute(this.element, 'aria-posinset', String(position + 1));
    setAttribute(this.element, 'aria-setsize', String(size));
  }

  mark(active: boolean): void {
    setAttribute(this.element, 'aria-selected', String(active));
  }

  #showMarks(request: RequestSummary, slowMs: number): void {
    const marks = marksOf(request, slowMs);
    const state = stateMark(request);
    const all = JSON.stringify([marks, state]);
    if (all === this.#marks) return;
    this.#marks = all;
    this.#badges.replaceChildren(...marks.map(badge));
    this.#status.replaceChildren(badge(state));
  }
}

function setAttribute(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}
