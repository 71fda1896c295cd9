import type { GraphView, RequestDetails, Step } from '../src/wire.js';
import { moodOf, type Caption } from './caption.js';
import type { Arrows } from './graph-arrows.js';
import type { Boxes } from './graph-boxes.js';
import type { Stage } from './replay.js';

const FLASH_MS = 1000;

/** Opens and closes boxes and highlights services while a request is replayed. */
export class GraphStage implements Stage {
  readonly #view: GraphView;
  readonly #boxes: Boxes;
  readonly #arrows: Arrows;
  readonly #caption: Caption;

  constructor(view: GraphView, boxes: Boxes, arrows: Arrows, caption: Caption) {
    this.#view = view;
    this.#boxes = boxes;
    this.#arrows = arrows;
    this.#caption = caption;
  }

  begin(): void {
    this.#clear();
  }

  step(request: RequestDetails, step: Step, slower: number): void {
    this.#caption.show(request, step, slower);
    const box = step.span === undefined ? this.#root : request.spans[step.span]?.box;
    const element = box === undefined ? undefined : this.#boxes.boxes.get(box);
    const mood = moodOf(step);
    if (mood !== '') flash(element ?? this.#boxes.boxes.values().next().value, mood);
    if (box === undefined) return;
    if (step.kind === 'scope opened') this.#open(box, element);
    else if (step.kind === 'scope closed') this.#close(box, element);
    else if (step.kind === 'created') this.#light(box, step.key ?? '');
    else if (step.kind === 'disposed') this.#node(box, step.key ?? '')?.classList.remove('lit');
    else if (step.kind === 'statement') this.#pulse(box);
  }

  end(request: RequestDetails): void {
    this.#clear();
    this.#caption.finished(request);
  }

  idle(): void {
    this.#caption.waiting();
  }

  get #root(): string | undefined {
    return this.#view.boxes.find(({ parent }) => parent === undefined)?.id;
  }

  #open(box: string, element: HTMLElement | undefined): void {
    element?.classList.add('open');
    // Directly registered services and values exist from the beginning.
    for (const { id, kind } of this.#view.nodes.filter((node) => node.box === box)) {
      if (kind === 'register' || kind === 'value') this.#boxes.nodes.get(id)?.classList.add('lit');
    }
  }

  #close(box: string, element: HTMLElement | undefined): void {
    element?.classList.remove('open');
    for (const { id } of this.#view.nodes.filter((node) => node.box === box)) {
      this.#boxes.nodes.get(id)?.classList.remove('lit');
    }
  }

  #light(box: string, key: string): void {
    const node = this.#node(box, key);
    node?.classList.add('lit');
    const id = node?.dataset['node'];
    if (id !== undefined) this.#arrows.flash(id);
  }

  #pulse(box: string): void {
    const connection = this.#node(box, 'IConnection');
    connection?.classList.remove('pulse');
    // Reading it restarts the animation.
    void connection?.offsetWidth;
    connection?.classList.add('pulse');
  }

  #node(box: string, key: string): HTMLElement | undefined {
    const found = this.#view.nodes.find((node) => node.box === box && node.key === key);
    return found && this.#boxes.nodes.get(found.id);
  }

  #clear(): void {
    for (const node of this.#boxes.nodes.values()) node.classList.remove('lit', 'pulse');
    for (const box of this.#boxes.boxes.values()) {
      if (!box.classList.contains('root')) box.classList.remove('open');
    }
  }
}

function flash(element: HTMLElement | undefined, mood: 'bad' | 'good'): void {
  if (!element) return;
  element.dataset['flash'] = mood;
  setTimeout(() => delete element.dataset['flash'], FLASH_MS);
}
