import { type Signal, signal } from '@preact/signals';
import type { GraphProblem, GraphView } from '../../src/wire.js';
import { h } from '../dom.js';
import { aboutOf, GraphDrawing } from './graph-drawing.js';
import { GraphIndex } from './graph-index.js';
import { layOut, type Size } from './graph-layout.js';

const STEPS: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };
const SMALLEST = 0.1;
const LARGEST = 3;
/** Around a service that is brought into view. */
const MARGIN = 50;

/** The place that the drawing is in: it is scrolled and zoomed, and its services are chosen by mouse and keys. */
export class GraphCanvas {
  readonly element = h('div', { class: 'canvas', id: 'canvas', role: 'group', 'aria-label': 'Dependency graph' });
  readonly drawing = new GraphDrawing(h('div'));
  readonly scale = signal(1);
  readonly index: Signal<GraphIndex | undefined> = signal();
  /** How many arrows are drawn only with the service they belong to. */
  readonly leftOut = signal(0);
  readonly #paper = h('div', { class: 'paper' });
  #size: Size = { width: 0, height: 0 };
  /** The width of the window for which the drawing was laid out. */
  #laidOut = -1;

  /** `choose` is called with the service that the user clicks at. */
  constructor(choose: (service: string) => void) {
    const { element, drawing } = this;
    element.append(this.#paper);
    this.#paper.append(drawing.element);
    element.addEventListener('click', ({ target }) => {
      const id = serviceAt(target)?.dataset['id'];
      if (id !== undefined) choose(id);
    });
    element.addEventListener('keydown', (event) => this.#onKey(event));
    const light = ({ target }: Event): void => drawing.light(serviceAt(target)?.dataset['id'] ?? drawing.chosen.value);
    // A finger that scrolls is not a pointer that hovers.
    element.addEventListener('pointerover', (event) => event.pointerType !== 'touch' && light(event));
    for (const kind of ['pointerleave', 'focusin', 'focusout']) element.addEventListener(kind, light);
    element.addEventListener('pointermove', ({ target, buttons, pointerType, movementX, movementY }) => {
      if (buttons === 1 && pointerType !== 'touch' && !serviceAt(target)) element.scrollBy(-movementX, -movementY);
    });
    window.addEventListener('resize', () => this.begin());
  }

  load(view: GraphView): void {
    this.index.value = new GraphIndex(view);
    // When its problems are listed, too, which take a part of a narrow window.
    setTimeout(() => this.fit());
  }

  /** The first picture: when there is a graph, and again when the window has another width. */
  begin(): void {
    const index = this.index.value;
    const { clientWidth, clientHeight } = this.element;
    // Phones change the height of the window while they scroll. A panel that is hidden has no width at all.
    if (!index || this.#laidOut === (clientWidth && window.innerWidth)) return;
    this.#laidOut = clientWidth && window.innerWidth;
    const padding = 2 * Number.parseFloat(getComputedStyle(this.element).paddingLeft);
    const space = { width: Math.max(1, clientWidth - padding), height: Math.max(1, clientHeight - padding) };
    const letters = document.createElement('canvas').getContext('2d');
    if (letters) letters.font = `13px ${getComputedStyle(this.element).fontFamily}`;
    const layout = layOut(index, space, letters ? (key) => letters.measureText(key).width : undefined);
    this.leftOut.value = this.drawing.draw(index, layout);
    this.#size = layout;
    this.#set(layout.scale);
    this.element.scrollTo(0, 0);
    this.element.querySelector('.service')?.setAttribute('tabindex', '0');
  }

  /** As at first, in the space that there is now. */
  fit(): void {
    this.#laidOut = -1;
    this.begin();
  }

  /** The middle of the canvas stays where it is. */
  zoom(scale: number): void {
    const { element } = this;
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = element;
    const grown = Math.min(LARGEST, Math.max(SMALLEST, scale)) / this.scale.value;
    this.#set(this.scale.value * grown);
    const along = (from: number, space: number): number => (from + space / 2) * grown - space / 2;
    element.scrollTo(along(scrollLeft, clientWidth), along(scrollTop, clientHeight));
  }

  /** Highlights a service, and brings it into view. */
  choose(id: string | undefined): void {
    this.#show(undefined);
    this.drawing.chosen.value = id;
    this.drawing.light(id);
    if (id !== undefined) this.#bringIntoView([id]);
  }

  /** Draws the path of a problem above everything else, with its message beside it. */
  trace(problem: GraphProblem): void {
    this.choose(undefined);
    this.#show(problem);
    this.#bringIntoView([...problem.unused, ...aboutOf(problem)]);
    const { element } = this.drawing;
    setTimeout(() => element.querySelector('.callout')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }));
  }

  #show(problem: GraphProblem | undefined): void {
    this.drawing.problem.value = problem;
    this.drawing.mark('traced', problem ? aboutOf(problem) : []);
    this.drawing.mark('unused', problem?.unused ?? []);
    this.element.classList.toggle('tracing', problem !== undefined);
  }

  /** Scrolls no more than is necessary, when the details have taken their place; the last one counts most. */
  #bringIntoView(ids: readonly string[]): void {
    const by = (from: number, to: number, start: number, end: number): number =>
      Math.min(0, from - MARGIN - start) || Math.max(0, to + MARGIN - end);
    setTimeout(() => {
      for (const id of ids) {
        const [seen, at] = [this.element, this.drawing.elements.get(id)].map((one) => one?.getBoundingClientRect());
        if (!seen || !at) continue;
        const across = by(at.left, at.right, seen.left, seen.right);
        this.element.scrollBy(across, by(at.top, at.bottom, seen.top, seen.bottom));
      }
    });
  }

  #set(scale: number): void {
    this.scale.value = scale;
    this.#paper.style.setProperty('width', `${this.#size.width * scale}px`);
    this.#paper.style.setProperty('height', `${this.#size.height * scale}px`);
    this.drawing.element.style.setProperty('--scale', String(scale));
  }

  /** One service is reached with Tab, the next ones and those before it with arrow keys. */
  #onKey(event: KeyboardEvent): void {
    const from = serviceAt(event.target);
    const by = STEPS[event.key];
    if (!from || by === undefined) return;
    event.preventDefault();
    const all = [...this.element.querySelectorAll<HTMLElement>('.service')];
    const next = all[all.indexOf(from) + by];
    if (!next) return;
    from.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

function serviceAt(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>('.service') : null;
}
