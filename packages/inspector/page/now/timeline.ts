import type { RequestSummary } from '../../src/wire.js';
import { h, setText } from '../dom.js';
import { clock, duration } from '../format.js';
import { stateMark } from '../requests/request-badges.js';
import type { Store } from '../stream/store.js';
import { TimelineCanvas, type TimelinePicture } from './timeline-canvas.js';
import { TimelineHistory } from './timeline-history.js';
import { barsWithin, timelineSummary } from './timeline-summary.js';

const LONGEST_S = 60;
const DRAW_MS = 250;
const CALM_DRAW_MS = 1000;
/** Thousands of bars are drawn less often, so that drawing takes a thirtieth of the time at most. */
const REST_FACTOR = 30;
const MOST_ROWS = 20;

/** The requests of the last seconds beside each other, and how the connection pool was used meanwhile. */
export class Timeline {
  readonly element: HTMLElement;
  readonly #history = new TimelineHistory(LONGEST_S * 1000);
  readonly #canvas: TimelineCanvas;
  readonly #summary = h('p', { class: 'hint' });
  readonly #rows = h('tbody');
  readonly #table: HTMLDetailsElement;
  readonly #seconds = h('select', { 'aria-label': 'How many seconds' });
  readonly #pause = h('button', { class: 'toggle', 'aria-pressed': 'false' }, 'Pause');
  readonly #onOpen: (id: number) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The time at which it is paused, and what there was then. */
  #paused: TimelinePicture | undefined;
  #drawnRows = '';

  constructor(store: Store, onOpen: (id: number) => void) {
    this.#onOpen = onOpen;
    this.#canvas = new TimelineCanvas(onOpen);
    for (const seconds of [10, 30, LONGEST_S])
      this.#seconds.append(h('option', { value: String(seconds) }, `${seconds} s`));
    this.#seconds.value = '30';
    this.#seconds.addEventListener('change', () => this.#draw());
    this.#pause.addEventListener('click', () => this.#togglePause());
    this.#table = h(
      'details',
      { class: 'timeline-table' },
      h('summary', {}, 'The longest of them in a table'),
      h('table', { class: 'data' }, tableHead(), this.#rows),
    );
    this.#table.addEventListener('toggle', () => this.#draw());
    this.element = h(
      'section',
      { class: 'card timeline', 'aria-label': 'Timeline' },
      h('div', { class: 'timeline-tools' }, h('h2', {}, 'Timeline'), legend(), this.#seconds, this.#pause),
      this.#canvas.element,
      this.#summary,
      this.#table,
    );
    store.onStart(() => this.#history.clear());
    store.onChange((changed) => this.#history.take(changed, store.now?.pool, Date.now()));
  }

  set shown(shown: boolean) {
    clearTimeout(this.#timer);
    if (shown) this.#drawAgain();
  }

  #drawAgain(): void {
    const start = performance.now();
    if (!this.#paused && !document.hidden) this.#draw();
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const took = performance.now() - start;
    const wait = Math.max(isCalm ? CALM_DRAW_MS : DRAW_MS, took * REST_FACTOR);
    this.#timer = setTimeout(() => this.#drawAgain(), wait);
  }

  #togglePause(): void {
    this.#paused = this.#paused ? undefined : this.#picture();
    this.#pause.setAttribute('aria-pressed', String(this.#paused !== undefined));
    this.#draw();
  }

  #picture(): TimelinePicture {
    const to = this.#paused?.window.to ?? this.#history.serverTime(Date.now());
    const window = { from: to - Number(this.#seconds.value) * 1000, to };
    const bars = barsWithin(this.#paused?.bars ?? this.#history.bars, window);
    return { bars, pool: this.#paused?.pool ?? [...this.#history.pool], window };
  }

  #draw(): void {
    const picture = this.#picture();
    this.#canvas.draw(picture);
    const text = timelineSummary(picture.bars, picture.pool, Number(this.#seconds.value));
    setText(this.#summary, text);
    if (this.#canvas.element.getAttribute('aria-label') !== text) this.#canvas.element.setAttribute('aria-label', text);
    if (this.#table.open) this.#drawRows(picture);
  }

  #drawRows({ bars }: TimelinePicture): void {
    const longest = bars
      .map(({ request }) => request)
      .toSorted((one, other) => (other.milliseconds ?? Infinity) - (one.milliseconds ?? Infinity))
      .slice(0, MOST_ROWS);
    const drawn = JSON.stringify(longest);
    // A row that is about to be chosen stays.
    if (drawn === this.#drawnRows || this.#rows.contains(document.activeElement)) return;
    this.#drawnRows = drawn;
    this.#rows.replaceChildren(...longest.map((request) => this.#row(request)));
  }

  #row(request: RequestSummary): HTMLElement {
    const { id, method, route, arrived, milliseconds, waited } = request;
    const link = h('button', { class: 'link' }, `${method} ${route}`);
    link.addEventListener('click', () => this.#onOpen(id));
    const cells = [
      clock(arrived),
      milliseconds === undefined ? 'in progress' : duration(milliseconds),
      duration(waited),
      stateMark(request).text,
    ];
    return h('tr', {}, h('th', { scope: 'row' }, link), ...cells.map((cell) => h('td', {}, cell)));
  }
}

function tableHead(): HTMLElement {
  const names = ['request', 'arrived', 'took', 'waited', 'status'];
  return h('thead', {}, h('tr', {}, ...names.map((name) => h('th', { scope: 'col' }, name))));
}

function legend(): HTMLElement {
  const names = {
    accent: 'completed',
    warn: '4xx or rolled back',
    bad: '5xx, aborted, leaked',
    muted: 'in progress',
    hollow: 'hollow: how long it waited for a connection',
  };
  return h(
    'ul',
    { class: 'timeline-legend' },
    ...Object.entries(names).map(([mark, name]) => h('li', {}, h('i', { 'data-mark': mark }), name)),
  );
}
