import type { GraphBox, GraphView, ServiceNode } from '../../src/wire.js';
import { h, setText } from '../dom.js';
import { count, lifetimeOf } from '../format.js';
import type { Layout, Rect } from './graph-layout.js';
import type { Shown, ShownBox, ShownGroup } from './graph-shown.js';

/** A box; its header stays the same while services in it are collapsed and expanded. */
interface BoxElements {
  readonly element: HTMLElement;
  readonly header: HTMLElement;
  readonly open: HTMLElement;
  readonly leaks: HTMLButtonElement;
}

/** The scopes as boxes within boxes, each with the services that it owns. An element is made once, and moved. */
export class Boxes {
  readonly element = h('div', { class: 'roots' });
  readonly services: ReadonlyMap<string, HTMLButtonElement>;
  readonly #boxes: ReadonlyMap<string, BoxElements>;
  #groups = new Map<string, HTMLElement>();
  #drawnAs: ReadonlyMap<string, string> = new Map();

  constructor({ boxes, nodes, problems }: GraphView) {
    const wrong = new Set(problems.flatMap((problem) => problem.nodes));
    this.services = new Map(nodes.map((node) => [node.id, serviceButton(node, wrong.has(node.id))]));
    this.#boxes = new Map(boxes.map((box) => [box.id, boxElements(box)]));
  }

  draw({ roots, drawnAs }: Shown, { places }: Layout): void {
    this.#drawnAs = drawnAs;
    this.#groups = new Map();
    this.element.replaceChildren(...roots.map((root) => this.#drawBox(root, places, undefined)));
  }

  box(id: string): HTMLElement | undefined {
    return this.#boxes.get(id)?.element;
  }

  /** Where a service is seen: its button, or the group or box that is collapsed over it. */
  seen(service: string): HTMLElement | undefined {
    const id = this.#drawnAs.get(service);
    return id === undefined ? undefined : this.drawn(id);
  }

  /** What is drawn with this id: a service, a group or a box. */
  drawn(id: string): HTMLElement | undefined {
    return this.services.get(id) ?? this.#groups.get(id) ?? this.box(id);
  }

  /** The buttons between which arrow keys move. */
  buttons(): HTMLElement[] {
    return [...this.element.querySelectorAll<HTMLElement>('.service, .fold')];
  }

  tell(box: string, open: number, leaks: number): void {
    const elements = this.#boxes.get(box);
    if (!elements) return;
    setText(elements.open, box.includes(' > ') ? `${count(open)} open` : '');
    elements.leaks.hidden = leaks === 0;
    setText(elements.leaks, leaks === 1 ? '1 leak' : `${count(leaks)} leaks`);
  }

  #drawBox(shown: ShownBox, places: Layout['places'], above: Rect | undefined): HTMLElement {
    const { box, collapsed, size } = shown;
    const place = places.get(box.id);
    const { element, header } = this.#boxes.get(box.id) ?? boxElements(box);
    const fold = header.querySelector('.fold');
    fold?.setAttribute('aria-expanded', String(!collapsed));
    setText(header.querySelector('.lifetime') ?? fold ?? header, collapsed ? services(size) : lifetimeText(box));
    element.classList.toggle('collapsed', collapsed);
    if (place) put(element, place, above);
    element.replaceChildren(
      header,
      ...(collapsed
        ? []
        : [
            ...shown.groups.map((group) => this.#drawGroup(group, box.id, places, place)),
            ...shown.inner.map((inner) => this.#drawBox(inner, places, place)),
          ]),
    );
    return element;
  }

  #drawGroup(group: ShownGroup, box: string, places: Layout['places'], above: Rect | undefined): HTMLElement {
    const { id, feature, collapsed, nodes } = group;
    const place = places.get(id);
    const element = collapsed ? foldedGroup(group) : h('div', { class: 'group', 'data-lifetime': lifetimeOf(box) });
    if (place) put(element, place, above);
    this.#groups.set(id, element);
    if (collapsed) return element;
    if (feature !== undefined) {
      element.setAttribute('role', 'group');
      element.setAttribute('aria-label', `feature ${feature}`);
      element.classList.add('named');
      element.append(h('button', { class: 'fold', 'data-fold': id, 'aria-expanded': 'true', tabindex: '-1' }, feature));
    }
    for (const { id: node } of nodes) {
      const [button, at] = [this.services.get(node), places.get(node)];
      if (!button || !at) continue;
      put(button, at, place);
      element.append(button);
    }
    return element;
  }
}

function boxElements(box: GraphBox): BoxElements {
  const open = h('output');
  const leaks = h('button', { class: 'leaks', 'data-leaks': box.id, hidden: '' });
  const fold = h('button', { class: 'fold', 'data-fold': box.id, 'aria-expanded': 'true', tabindex: '-1' }, box.tags);
  const header = h('header', {}, fold, open, h('span', { class: 'lifetime' }, lifetimeText(box)), leaks);
  const isRoot = box.parent === undefined;
  const element = h('section', {
    class: isRoot ? 'box open root' : 'box',
    'data-lifetime': lifetimeOf(box.id),
    'data-box': box.id,
    'aria-label': `scope ${box.tags}`,
  });
  return { element, header, open, leaks };
}

function serviceButton({ id, key, kind, singleton }: ServiceNode, wrong: boolean): HTMLButtonElement {
  const isTransient = !singleton && kind !== 'value' && kind !== 'register';
  const classes = ['service', isTransient && 'transient', wrong && 'wrong'].filter(Boolean);
  return h(
    'button',
    { class: classes.join(' '), 'data-node': id, 'data-kind': kind, title: key, tabindex: '-1' },
    h('i', { class: 'lamp' }),
    h('span', { class: 'key' }, key),
  );
}

function foldedGroup({ id, feature = '', nodes }: ShownGroup): HTMLElement {
  return h(
    'button',
    { class: 'service folded', 'data-fold': id, 'data-node': id, 'aria-expanded': 'false', tabindex: '-1' },
    h('i', { class: 'lamp' }),
    h('span', { class: 'key' }, feature),
    h('span', { class: 'size' }, count(nodes.length)),
  );
}

function lifetimeText({ tags, parent }: GraphBox): string {
  if (parent === undefined) return 'one, from start to shutdown';
  return tags === 'transaction' ? 'while it is open' : `one for each ${tags}`;
}

function services(size: number): string {
  return size === 1 ? '1 service' : `${count(size)} services`;
}

function put(element: HTMLElement, { x, y, width, height }: Rect, above: Rect | undefined): void {
  const { style } = element;
  style.setProperty('left', `${x - (above?.x ?? 0)}px`);
  style.setProperty('top', `${y - (above?.y ?? 0)}px`);
  style.setProperty('width', `${width}px`);
  style.setProperty('height', `${height}px`);
}
