import type { RequestSummary } from '../../src/wire.js';
import { h, setText } from '../dom.js';
import { clock, duration } from '../format.js';
import { stateMark } from '../requests/request-view.js';
import type { Store } from '../stream/store.js';
import {
  barsWithin,
  type PoolSample,
  type TimelineBar,
  TimelineHistory,
  timelineSummary,
  type TimeWindow,
} from './timeline-history.js';

const TRACK = 11;
const BAR = 8;
/** The height is the same for all of them, so that nothing below it moves. */
const TRACKS = 16;
const POOL = 64;
const AXIS = 20;
const COLORS = ['accent', 'bad', 'warn', 'muted', 'line', 'surface', 'lifetime-3'] as const;
type Color = (typeof COLORS)[number];
/** A shorter bar could not be seen. */
const SHORTEST = 2;

export interface TimelinePicture {
  readonly bars: readonly TimelineBar[];
  readonly pool: readonly PoolSample[];
  readonly window: TimeWindow;
}

/** Draws requests in tracks, and the pool below on the same axis. */
export class TimelineCanvas {
  readonly element = h('canvas', { class: 'timeline-canvas', role: 'img' });
  readonly #onOpen: (id: number) => void;
  #picture: TimelinePicture | undefined;
  /** Reading it from the element, for each bar, would take longer than drawing. */
  #width = 0;

  constructor(onOpen: (id: number) => void) {
    this.#onOpen = onOpen;
    this.element.addEventListener('click', (event) => {
      const found = this.#at(event);
      if (found) this.#onOpen(found.id);
    });
    this.element.addEventListener('pointermove', (event) => {
      const found = this.#at(event);
      this.element.title = found ? `${found.method} ${found.route}` : '';
      this.element.style.cursor = found ? 'pointer' : '';
    });
  }

  draw(picture: TimelinePicture): void {
    this.#picture = picture;
    const width = this.element.clientWidth;
    this.#width = width;
    const height = TRACKS * TRACK + POOL + AXIS;
    const context = this.element.getContext('2d');
    if (!context || width === 0) return;
    const scale = devicePixelRatio;
    if (this.element.width !== Math.round(width * scale) || this.element.height !== Math.round(height * scale)) {
      this.element.width = Math.round(width * scale);
      this.element.height = Math.round(height * scale);
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const styles = getComputedStyle(this.element);
    const colors = new Map(COLORS.map((name) => [name, styles.getPropertyValue(`--${name}`)]));
    const color = (name: Color): string => colors.get(name) ?? '';
    this.#drawAxis(context, width, height, color);
    for (const bar of picture.bars) this.#drawBar(context, bar, color);
    this.#drawPool(context, width, TRACKS * TRACK, color);
  }

  #x(time: number): number {
    const { from, to } = this.#picture?.window ?? { from: 0, to: 1 };
    return ((time - from) / (to - from)) * this.#width;
  }

  #drawAxis(context: CanvasRenderingContext2D, width: number, height: number, color: (name: Color) => string): void {
    const { from, to } = this.#picture?.window ?? { from: 0, to: 1 };
    const seconds = (to - from) / 1000;
    context.fillStyle = color('muted');
    context.strokeStyle = color('line');
    context.font = '11px system-ui, sans-serif';
    for (let i = 0; i <= 5; i++) {
      const x = Math.round((i / 5) * (width - 1)) + 0.5;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height - AXIS);
      context.stroke();
      context.textAlign = i === 0 ? 'left' : i === 5 ? 'right' : 'center';
      context.fillText(i === 5 ? 'now' : `-${Math.round(seconds - (i / 5) * seconds)} s`, x, height - 6);
    }
  }

  #drawBar(context: CanvasRenderingContext2D, { request, track }: TimelineBar, color: (name: Color) => string): void {
    if (track >= TRACKS) return;
    const { left, width } = this.#sizeOf(request);
    const y = track * TRACK;
    context.fillStyle = color(colorOf(request));
    context.globalAlpha = request.state === 'open' ? 0.45 : 1;
    context.fillRect(left, y, width, BAR);
    context.globalAlpha = 1;
    if (request.waited < 1) return;
    // How long it waited, not when.
    context.fillStyle = color('surface');
    context.fillRect(left, y + 2, Math.min(width, this.#x(request.arrived + request.waited) - left), BAR - 4);
  }

  #drawPool(context: CanvasRenderingContext2D, width: number, top: number, color: (name: Color) => string): void {
    const { pool = [], window } = this.#picture ?? {};
    if (pool.length === 0 || !window) return;
    const most = pool.reduce((known, { open, inUse, waiting }) => Math.max(known, open, inUse + waiting), 1);
    const bottom = top + POOL - 4;
    const unit = (POOL - 22) / most;
    for (const [i, { at, inUse, waiting, open }] of pool.entries()) {
      const left = Math.max(0, this.#x(at));
      const right = Math.min(width, this.#x(pool[i + 1]?.at ?? window.to));
      if (right <= 0) continue;
      context.fillStyle = color('lifetime-3');
      context.fillRect(left, bottom - inUse * unit, right - left, inUse * unit);
      context.fillStyle = color('bad');
      context.fillRect(left, bottom - (inUse + waiting) * unit, right - left, waiting * unit);
      context.fillStyle = color('muted');
      context.fillRect(left, bottom - open * unit, right - left, 1);
    }
    context.fillStyle = color('muted');
    context.textAlign = 'left';
    context.fillText(`connections, up to ${most}`, 4, top + 12);
  }

  #sizeOf({ arrived, milliseconds = 0, state }: RequestSummary): { left: number; width: number } {
    const left = Math.max(0, this.#x(arrived));
    const end = state === 'open' ? (this.#picture?.window.to ?? 0) : arrived + milliseconds;
    return { left, width: Math.max(SHORTEST, this.#x(end) - left) };
  }

  #at({ offsetX, offsetY }: MouseEvent): RequestSummary | undefined {
    const track = Math.floor(offsetY / TRACK);
    const found = this.#picture?.bars.find(({ request, track: its }) => {
      const { left, width } = this.#sizeOf(request);
      // Some pixels more, for bars that are hard to hit.
      return its === track && offsetX >= left - 2 && offsetX <= left + width + 2;
    });
    return found?.request;
  }
}

function colorOf({ state, status = 0, outcome, leaks }: RequestSummary): Color {
  if (state === 'open') return 'muted';
  if (state === 'aborted' || status >= 500 || leaks > 0) return 'bad';
  return status >= 400 || (outcome !== undefined && outcome !== 'committed') ? 'warn' : 'accent';
}

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
