import type { GraphView, RequestDetails, Step } from '../../src/wire.js';
import { h } from '../dom.js';
import { moodOf } from './caption.js';
import { Arrows, Boxes, Matches } from './graph-boxes.js';
import { type Choices, GraphIndex, groupId, NOTHING_CHOSEN, type Shown, shownOf } from './graph-index.js';
import { layOut, type Layout, type Rect } from './graph-layout.js';
import { type Frame, frameAt, type Service } from './replay-frames.js';

type Direction = 'ArrowDown' | 'ArrowLeft' | 'ArrowRight' | 'ArrowUp';

/** A sideways step costs more than a long one, so that arrow keys stay in a column. */
const ASIDE = 3;

/** One element of the graph is reached with Tab, the others from there with arrow keys. */
class TabStop {
  #at: HTMLElement | undefined;

  /** Stays where it is, unless that was removed: then `first` is the one. */
  renew(first: HTMLElement | undefined): void {
    this.#set(this.#at?.isConnected ? this.#at : first);
  }

  /** Returns the element that an arrow key has moved to. */
  move(event: KeyboardEvent, all: readonly HTMLElement[]): HTMLElement | undefined {
    const { target, key } = event;
    if (!(target instanceof HTMLElement) || !key.startsWith('Arrow')) return undefined;
    event.preventDefault();
    const next = neighbour(target, key, all);
    if (next) this.focus(next);
    return next;
  }

  focus(element: HTMLElement): void {
    this.#set(element);
    element.focus({ preventScroll: true });
  }

  #set(element: HTMLElement | undefined): void {
    if (this.#at) this.#at.tabIndex = -1;
    this.#at = element;
    if (element) element.tabIndex = 0;
  }
}

/** The nearest service in the direction of an arrow key, if there is one. */
function neighbour(from: HTMLElement, key: string, all: Iterable<HTMLElement>): HTMLElement | undefined {
  const direction = key as Direction;
  const start = from.getBoundingClientRect();
  let best: { element: HTMLElement; cost: number } | undefined;
  for (const element of all) {
    const { left, top } = element.getBoundingClientRect();
    const [ahead, aside] = distances(direction, left - start.left, top - start.top);
    if (ahead < 4) continue;
    const cost = ahead + ASIDE * aside;
    if (!best || cost < best.cost) best = { element, cost };
  }
  return best?.element;
}

function distances(direction: Direction, right: number, down: number): [ahead: number, aside: number] {
  switch (direction) {
    case 'ArrowDown':
      return [down, Math.abs(right)];
    case 'ArrowUp':
      return [-down, Math.abs(right)];
    case 'ArrowRight':
      return [right, Math.abs(down)];
    case 'ArrowLeft':
      return [-right, Math.abs(down)];
    default:
      return [0, 0];
  }
}

const FLASH_MS = 1000;
const MARKS = ['open', 'left', 'lit', 'failed', 'pulse'] as const;
type Mark = (typeof MARKS)[number];

/** Opens and closes boxes and highlights services: the graph as it is at one step of a request. */
class GraphStage {
  readonly #index: GraphIndex;
  readonly #boxes: Boxes;
  readonly #arrows: Arrows;
  #marked: ReadonlyMap<HTMLElement, ReadonlySet<Mark>> = new Map();
  #frame: Frame | undefined;
  #flashed: HTMLElement | undefined;
  #flash: ReturnType<typeof setTimeout> | undefined;

  constructor(index: GraphIndex, boxes: Boxes, arrows: Arrows) {
    this.#index = index;
    this.#boxes = boxes;
    this.#arrows = arrows;
  }

  /** Only a step that follows the one before flashes its arrows. */
  show(request: RequestDetails | undefined, position: number, follows: boolean): void {
    this.#frame = request && frameAt(request, position);
    const step = request?.steps[position];
    this.redraw(step);
    if (!follows) this.#unflash();
    if (!request || !step) return;
    const box = step.span === undefined ? undefined : request.spans[step.span]?.box;
    const mood = moodOf(step);
    if (mood !== '') this.#flashBox(box, mood);
    const id = step.kind === 'created' && follows ? this.#idOf({ box, key: step.key ?? '' }) : undefined;
    if (id !== undefined) this.#arrows.flash(id);
  }

  /** Puts the marks on the elements that are drawn now, touching only what differs. */
  redraw(step?: Step): void {
    const marks = new Map<HTMLElement, Set<Mark>>();
    const mark = (element: HTMLElement | undefined, as: Mark): void => {
      if (element) marks.set(element, (marks.get(element) ?? new Set()).add(as));
    };
    const { open = new Map<string, number>(), left = new Set<string>(), created = [], failed = [] } = this.#frame ?? {};
    for (const box of open.keys()) {
      mark(this.#boxes.box(box), 'open');
      // Directly registered services and values exist from the beginning.
      for (const id of this.#index.givenIn(box)) mark(this.#boxes.seen(id), 'lit');
      if (step?.kind === 'statement') mark(this.#seen({ box, key: 'IConnection' }), 'pulse');
    }
    for (const box of left) mark(this.#boxes.box(this.#index.boxAround(box) ?? ''), 'left');
    for (const service of created) mark(this.#seen(service), 'lit');
    for (const service of failed) mark(this.#seen(service), 'failed');
    for (const [element, before] of this.#marked)
      for (const one of before) if (!marks.get(element)?.has(one) || one === 'pulse') element.classList.remove(one);
    for (const [element, now] of marks)
      for (const one of now) {
        // Reading it restarts the animation.
        if (one === 'pulse') void element.offsetWidth;
        element.classList.add(one);
      }
    this.#marked = marks;
  }

  #seen(service: Service): HTMLElement | undefined {
    const id = this.#idOf(service);
    return id === undefined ? undefined : this.#boxes.seen(id);
  }

  /** A key that could not be resolved may belong to a box around the scope that was asked for it. */
  #idOf({ box = this.#index.root, key }: Service): string | undefined {
    for (let at = box; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf(' > ')))) {
      const id = this.#index.idOf(at, key);
      if (id !== undefined) return id;
    }
    return undefined;
  }

  #flashBox(box: string | undefined, mood: 'bad' | 'good'): void {
    this.#unflash();
    this.#flashed = this.#boxes.box(this.#index.boxAround(box ?? this.#index.root) ?? '');
    if (this.#flashed) this.#flashed.dataset['flash'] = mood;
    this.#flash = setTimeout(() => this.#unflash(), FLASH_MS);
  }

  #unflash(): void {
    clearTimeout(this.#flash);
    delete this.#flashed?.dataset['flash'];
  }
}

const SMALLEST = 0.1;
const LARGEST = 3;
const STEP = 1.2;
/** Below this the names cannot be read, so the drawing does not begin smaller. */
const READABLE = 0.6;
/** Until the browser draws the text sharp again. */
const SETTLED_MS = 150;
/** Around a service that is brought into view. */
const MARGIN = 60;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Zooms by buttons, keys, Ctrl and wheel, and two fingers; dragging the background moves the drawing. */
export class Zoom {
  readonly #canvas: HTMLElement;
  readonly #sheet: HTMLElement;
  readonly #content: HTMLElement;
  readonly #onChange: (scale: number) => void;
  #width = 0;
  #height = 0;
  #scale = 1;
  #settled: ReturnType<typeof setTimeout> | undefined;

  constructor(canvas: HTMLElement, sheet: HTMLElement, content: HTMLElement, onChange: (scale: number) => void) {
    this.#canvas = canvas;
    this.#sheet = sheet;
    this.#content = content;
    this.#onChange = onChange;
    canvas.addEventListener('wheel', (event) => this.#onWheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.#onPointerDown(event));
    canvas.addEventListener('touchstart', (event) => this.#onTouch(event), { passive: false });
  }

  get scale(): number {
    return this.#scale;
  }

  /** The size of the drawing at 100 %. */
  resize(width: number, height: number): void {
    this.#width = width;
    this.#height = height;
    this.#apply();
  }

  /** As large as it fits, but never larger than 100 % and, at first, large enough to read. */
  fit(least = SMALLEST): void {
    const { paddingLeft, paddingRight, paddingTop, paddingBottom } = getComputedStyle(this.#canvas);
    const width = this.#canvas.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
    const height = this.#canvas.clientHeight - Number.parseFloat(paddingTop) - Number.parseFloat(paddingBottom);
    this.#set(Math.max(least, Math.min(1, width / this.#width, height / this.#height)));
  }

  begin(): void {
    this.fit(READABLE);
    this.#canvas.scrollTo(0, 0);
  }

  /** Around this point of the window; by default the middle of the canvas stays where it is. */
  to(scale: number, around: Point = this.#middle()): void {
    const before = this.#content.getBoundingClientRect();
    const [x, y] = [(around.x - before.left) / this.#scale, (around.y - before.top) / this.#scale];
    this.#set(scale);
    const after = this.#content.getBoundingClientRect();
    this.#canvas.scrollBy(after.left + x * this.#scale - around.x, after.top + y * this.#scale - around.y);
  }

  by(steps: number): void {
    this.to(this.#scale * STEP ** steps);
  }

  /** Scrolls no more than is necessary. */
  bringIntoView({ x, y, width, height }: Rect): void {
    const seen = this.#canvas.getBoundingClientRect();
    const { left, top } = this.#content.getBoundingClientRect();
    const scale = this.#scale;
    const aside = excess(left + x * scale, width * scale, seen.left, seen.width);
    const down = excess(top + y * scale, height * scale, seen.top, seen.height);
    if (aside !== 0 || down !== 0) this.#canvas.scrollBy(aside, down);
  }

  #set(scale: number): void {
    this.#scale = Math.min(LARGEST, Math.max(SMALLEST, scale));
    this.#apply();
    this.#content.classList.add('zooming');
    clearTimeout(this.#settled);
    this.#settled = setTimeout(() => this.#content.classList.remove('zooming'), SETTLED_MS);
    this.#onChange(this.#scale);
  }

  #apply(): void {
    this.#sheet.style.setProperty('width', `${this.#width * this.#scale}px`);
    this.#sheet.style.setProperty('height', `${this.#height * this.#scale}px`);
    this.#content.style.setProperty('width', `${this.#width}px`);
    this.#content.style.setProperty('height', `${this.#height}px`);
    this.#content.style.setProperty('transform', this.#scale === 1 ? 'none' : `scale(${this.#scale})`);
  }

  #middle(): Point {
    const { left, top, width, height } = this.#canvas.getBoundingClientRect();
    return { x: left + width / 2, y: top + height / 2 };
  }

  #onWheel(event: WheelEvent): void {
    // A trackpad reports two fingers as the wheel with Ctrl.
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.to(this.#scale * Math.exp(-event.deltaY / 400), { x: event.clientX, y: event.clientY });
  }

  #onPointerDown(event: PointerEvent): void {
    const isBackground = !(event.target instanceof Element && event.target.closest('button'));
    // Fingers scroll by themselves.
    if (event.button !== 0 || event.pointerType === 'touch' || !isBackground) return;
    const { clientX, clientY } = event;
    const { scrollLeft, scrollTop } = this.#canvas;
    const drag = new AbortController();
    const { signal } = drag;
    const move = (moved: PointerEvent): void => {
      this.#canvas.classList.add('dragged');
      this.#canvas.scrollTo(scrollLeft - (moved.clientX - clientX), scrollTop - (moved.clientY - clientY));
    };
    const drop = (): void => {
      this.#canvas.classList.remove('dragged');
      drag.abort();
    };
    this.#canvas.setPointerCapture(event.pointerId);
    this.#canvas.addEventListener('pointermove', move, { signal });
    this.#canvas.addEventListener('pointerup', drop, { signal });
    this.#canvas.addEventListener('pointercancel', drop, { signal });
  }

  #onTouch(event: TouchEvent): void {
    const start = pinch(event);
    if (!start) return;
    event.preventDefault();
    const scale = this.#scale;
    const fingers = new AbortController();
    const { signal } = fingers;
    const move = (moved: TouchEvent): void => {
      const now = pinch(moved);
      if (!now) return;
      moved.preventDefault();
      this.to(scale * (now.distance / start.distance), now.middle);
    };
    this.#canvas.addEventListener('touchmove', move, { signal, passive: false });
    this.#canvas.addEventListener('touchend', () => fingers.abort(), { signal });
    this.#canvas.addEventListener('touchcancel', () => fingers.abort(), { signal });
  }
}

function pinch({ touches }: TouchEvent): { readonly distance: number; readonly middle: Point } | undefined {
  const [one, other] = touches;
  if (!one || !other || touches.length > 2) return undefined;
  return {
    distance: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY),
    middle: { x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2 },
  };
}

/** How far to scroll so that a part is within what is seen. */
function excess(start: number, length: number, seenFrom: number, seen: number): number {
  const margin = Math.min(MARGIN, Math.max(0, (seen - length) / 2));
  if (start < seenFrom + margin) return start - seenFrom - margin;
  return Math.max(0, start + length - (seenFrom + seen - margin));
}

/** An application with more services than this begins with its features collapsed. */
const MANY = 120;

/** With more than this on the screen only what is near the pointer changes its look, and at once. */
const MUCH = 150;
/** At this zoom and below nobody can read the names of services: those of features are written larger instead. */
const FAR = 0.4;

interface Events {
  readonly choose: (service: string) => void;
  readonly leaks: (box: string) => void;
  /** Called after the drawing or its size has changed. */
  readonly drawn: () => void;
}

/** The drawing of the graph: what of it is seen, highlighted and marked. */
export class GraphCanvas {
  readonly zoom: Zoom;
  readonly #element: HTMLElement;
  readonly #content = h('div', { class: 'content' });
  readonly #events: Events;
  readonly #arrows = new Arrows();
  index = new GraphIndex({ boxes: [], nodes: [], edges: [], problems: [] });
  boxes = new Boxes(this.index.view);
  stage = new GraphStage(this.index, this.boxes, this.#arrows);
  choices: Choices = NOTHING_CHOSEN;
  drawn: { readonly shown: Shown; readonly layout: Layout } | undefined;
  /** How many arrows are drawn only with the service they belong to. */
  leftOut = 0;
  #near: readonly HTMLElement[] = [];
  readonly #matches = new Matches();
  #chosen: string | undefined;
  readonly #stop = new TabStop();
  #begun = false;
  #isMuch = false;

  constructor(element: HTMLElement, events: Events) {
    this.#element = element;
    this.#events = events;
    const sheet = h('div', { class: 'paper' }, this.#content);
    element.append(sheet);
    this.zoom = new Zoom(element, sheet, this.#content, (scale) => {
      element.classList.toggle('far', scale < FAR);
      events.drawn();
    });
    element.addEventListener('click', ({ target }) => this.#onClick(target));
    element.addEventListener('keydown', (event) => this.#onKey(event));
    // A finger that scrolls is not a pointer that hovers.
    element.addEventListener('pointerover', ({ target, pointerType }) => {
      if (pointerType !== 'touch') this.#light(idAt(target, '[data-node]', 'node') ?? this.#chosen);
    });
    element.addEventListener('pointerleave', () => this.#light(this.#chosen));
    element.addEventListener('focusin', ({ target }) =>
      this.#light(idAt(target, '[data-node]', 'node') ?? this.#chosen),
    );
    element.addEventListener('focusout', () => this.#light(this.#chosen));
  }

  load(view: GraphView): void {
    this.index = new GraphIndex(view);
    this.boxes = new Boxes(view);
    this.stage = new GraphStage(this.index, this.boxes, this.#arrows);
    this.#content.replaceChildren(this.boxes.element, this.#arrows.element, this.#arrows.highlights);
    this.#matches.search(this.index, '');
    const folded = view.nodes.length > MANY ? this.groups() : [];
    this.see({ ...NOTHING_CHOSEN, collapsed: new Set(folded) });
    this.begin();
  }

  /** The first picture; not before the canvas has a size. */
  begin(): void {
    if (this.#begun || this.#element.clientWidth === 0 || this.index.view.nodes.length === 0) return;
    this.#begun = true;
    this.zoom.begin();
  }

  /** Ids of all groups that a feature names. */
  groups(): string[] {
    const named = this.index.view.nodes.filter(({ feature }) => feature !== undefined);
    return [...new Set(named.map(({ box, feature }) => groupId(box, feature)))];
  }

  see(choices: Choices): void {
    this.choices = choices;
    const focused = document.activeElement;
    const shown = shownOf(this.index, choices);
    const layout = layOut(shown);
    this.drawn = { shown, layout };
    this.boxes.draw(shown, layout);
    this.leftOut = this.#arrows.draw(shown.edges, layout);
    this.zoom.resize(layout.width, layout.height);
    this.#isMuch = layout.places.size + shown.edges.length > MUCH;
    this.#element.classList.toggle('much', this.#isMuch);
    this.stage.redraw();
    this.#matches.mark(this.boxes);
    this.#light(this.#chosen);
    this.#stop.renew(this.boxes.element.querySelector<HTMLElement>('.service') ?? undefined);
    // Moving an element within the page takes the focus away from it.
    if (focused instanceof HTMLElement && focused !== document.activeElement) this.#focusAgain(focused);
    this.#events.drawn();
  }

  choose(id: string | undefined): void {
    this.boxes.services.get(this.#chosen ?? '')?.setAttribute('aria-pressed', 'false');
    this.#chosen = id;
    this.boxes.services.get(id ?? '')?.setAttribute('aria-pressed', 'true');
    if (id !== undefined) this.#reveal(id);
    this.#light(id);
  }

  search(text: string): number {
    const found = this.#matches.search(this.index, text);
    this.#matches.mark(this.boxes);
    return found;
  }

  jump(by: -1 | 1): number {
    const match = this.#matches.move(by);
    if (match) this.#events.choose(match.id);
    return this.#matches.position;
  }

  fold(ids: readonly string[], folded: boolean): void {
    const collapsed = new Set(this.choices.collapsed);
    for (const id of ids)
      if (folded) collapsed.add(id);
      else collapsed.delete(id);
    this.see({ ...this.choices, collapsed });
  }

  /** Expands and unfilters what hides a service, and scrolls to it. */
  #reveal(id: string): void {
    const node = this.index.nodes.get(id);
    if (!node || !this.drawn) return;
    const { drawnAs } = this.drawn.shown;
    if (drawnAs.get(id) !== id) {
      const around = (box: string): boolean => node.box === box || node.box.startsWith(`${box} > `);
      const group = groupId(node.box, node.feature);
      const collapsed = [...this.choices.collapsed].filter((one) => one !== group && !around(one));
      const filters = drawnAs.has(id) ? this.choices : NOTHING_CHOSEN;
      this.see({ ...filters, collapsed: new Set(collapsed) });
    }
    const place = this.drawn.layout.places.get(id);
    if (place) this.zoom.bringIntoView(place);
  }

  #light(id: string | undefined): void {
    for (const element of this.#near) element.classList.remove('near');
    const drawn = id === undefined ? undefined : (this.drawn?.shown.drawnAs.get(id) ?? id);
    const isSeen = drawn !== undefined && this.drawn?.layout.places.has(drawn) === true;
    this.#element.classList.toggle('focused', isSeen && !this.#isMuch);
    const ends = this.#arrows.light(isSeen ? drawn : undefined);
    this.#near = (isSeen ? [drawn, ...ends] : []).flatMap((one) => this.boxes.drawn(one) ?? []);
    for (const element of this.#near) element.classList.add('near');
  }

  #onClick(target: EventTarget | null): void {
    const leaks = idAt(target, '[data-leaks]', 'leaks');
    const fold = idAt(target, '[data-fold]', 'fold');
    const node = idAt(target, '[data-node]', 'node');
    if (leaks !== undefined) this.#events.leaks(leaks);
    else if (fold !== undefined) this.fold([fold], !this.choices.collapsed.has(fold));
    else if (node !== undefined) this.#events.choose(node);
  }

  #onKey(event: KeyboardEvent): void {
    const next = this.#stop.move(event, this.boxes.buttons());
    const id = next?.dataset['node'] ?? next?.dataset['fold'];
    const place = this.drawn?.layout.places.get(id ?? '');
    if (place) this.zoom.bringIntoView(place);
  }

  #focusAgain(element: HTMLElement): void {
    const { fold } = element.dataset;
    const same = element.isConnected ? element : this.boxes.buttons().find((one) => one.dataset['fold'] === fold);
    if (same && this.#element.contains(same)) this.#stop.focus(same);
  }
}

function idAt(target: EventTarget | null, selector: string, name: string): string | undefined {
  return target instanceof Element ? target.closest<HTMLElement>(selector)?.dataset[name] : undefined;
}
