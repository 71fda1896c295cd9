import type { RequestDetails, Step } from '../../src/wire.js';
import { moodOf } from './caption.js';
import type { Arrows } from './graph-arrows.js';
import type { Boxes } from './graph-boxes.js';
import type { GraphIndex } from './graph-index.js';
import { type Frame, frameAt, type Service } from './replay-frames.js';

const FLASH_MS = 1000;
const MARKS = ['open', 'left', 'lit', 'failed', 'pulse'] as const;
type Mark = (typeof MARKS)[number];

/** Opens and closes boxes and highlights services: the graph as it is at one step of a request. */
export class GraphStage {
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
