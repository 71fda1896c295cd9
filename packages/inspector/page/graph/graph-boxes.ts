import type { GraphBox, GraphView, ServiceEdge, ServiceNode } from '../../src/wire.js';
import { h, setText, svg } from '../dom.js';
import { count, groupBy, lifetimeOf } from '../format.js';
import type { Store } from '../stream/store.js';
import { type GraphIndex, searchServices, type Shown, type ShownBox, type ShownGroup, way } from './graph-index.js';
import type { Layout, Rect } from './graph-layout.js';

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

  /** The service, group or box with this id. */
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
    setText(header.querySelector('.lifetime') ?? fold ?? header, collapsed ? servicesIn(size) : lifetimeText(box));
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

function servicesIn(size: number): string {
  return size === 1 ? '1 service' : `${count(size)} services`;
}

function put(element: HTMLElement, { x, y, width, height }: Rect, above: Rect | undefined): void {
  const { style } = element;
  style.setProperty('left', `${x - (above?.x ?? 0)}px`);
  style.setProperty('top', `${y - (above?.y ?? 0)}px`);
  style.setProperty('width', `${width}px`);
  style.setProperty('height', `${height}px`);
}

/** Of more arrows than this nobody can follow one: only those of the chosen service are drawn, and those with a problem. */
const MOST = 200;
const FLASH_MS = 900;

/** The arrows on top of the boxes, from each service to what it depends on. */
export class Arrows {
  readonly element = svg('svg', { class: 'arrows', 'aria-hidden': 'true' });
  /** Above the others, with a copy of each arrow that is highlighted: the many below are not painted again. */
  readonly highlights = svg('svg', { class: 'arrows near', 'aria-hidden': 'true' });
  readonly #all = svg('g');
  #out: ReadonlyMap<string, readonly ServiceEdge[]> = new Map();
  #in: ReadonlyMap<string, readonly ServiceEdge[]> = new Map();
  #places: Layout['places'] = new Map();
  #paths = new Map<ServiceEdge, SVGPathElement>();

  constructor() {
    const head = svg('marker', {
      id: 'head',
      viewBox: '0 0 8 8',
      refX: '7',
      refY: '4',
      markerWidth: '7',
      markerHeight: '7',
      orient: 'auto',
      markerUnits: 'userSpaceOnUse',
    });
    head.append(svg('path', { d: 'M0 0.5 L8 4 L0 7.5 z', fill: 'context-stroke' }));
    this.element.append(svg('defs', {}, head), this.#all);
  }

  /** Returns how many arrows are left out until a service is chosen. */
  draw(edges: readonly ServiceEdge[], { width, height, places }: Layout): number {
    for (const layer of [this.element, this.highlights]) {
      layer.setAttribute('width', String(width));
      layer.setAttribute('height', String(height));
    }
    this.#places = places;
    this.#out = groupBy(edges, ({ from }) => from);
    this.#in = groupBy(edges, ({ to }) => to);
    const drawn = edges.length <= MOST ? edges : edges.filter(({ problem }) => problem).slice(0, MOST);
    this.#paths = new Map(drawn.map((edge) => [edge, this.#path(edge)]));
    this.#all.replaceChildren(...this.#paths.values());
    this.highlights.replaceChildren();
    return edges.length - drawn.length;
  }

  /** Highlights the arrows from and to a service, and returns the ids at their other ends. */
  light(id: string | undefined): string[] {
    const [out, into] = id === undefined ? [[], []] : [this.#out.get(id) ?? [], this.#in.get(id) ?? []];
    this.highlights.replaceChildren(
      ...out.map((edge) => this.#path(edge, 'out')),
      ...into.map((edge) => this.#path(edge, 'in')),
    );
    return [...out.map(({ to }) => to), ...into.map(({ from }) => from)];
  }

  /** Flashes the arrows to the dependencies of a service that is being created. */
  flash(id: string): void {
    for (const edge of this.#out.get(id) ?? []) {
      const path = this.#paths.get(edge);
      path?.classList.add('used');
      setTimeout(() => path?.classList.remove('used'), FLASH_MS);
    }
  }

  #path({ from, to, kind, problem }: ServiceEdge, side = ''): SVGPathElement {
    const [start, end] = [this.#places.get(from), this.#places.get(to)];
    const classes = ['arrow', kind, side, problem ? 'wrong' : ''].filter(Boolean).join(' ');
    return svg('path', { class: classes, 'marker-end': 'url(#head)', d: start && end ? way(start, end) : '' });
  }
}

/** The application singletons that exist: those seen being created, and those that a created service depends on. */
export class Alive {
  readonly #index: GraphIndex;
  readonly #store: Store;
  readonly #ids = new Set<string>();
  #counted = -1;

  constructor(index: GraphIndex, store: Store) {
    this.#index = index;
    this.#store = store;
  }

  /** Those that are new. Only a service that was never created before can bring some. */
  takeNew(): string[] {
    const { services } = this.#store;
    if (services.size === this.#counted) return [];
    this.#counted = services.size;
    const before = this.#ids.size;
    const { view, root } = this.#index;
    for (const { id, box, key, kind } of view.nodes)
      if ((kind === 'value' && box === root) || this.#store.stats(box, key)) this.#add(id);
    return [...this.#ids].slice(before);
  }

  #add(id: string): void {
    const node = this.#index.nodes.get(id);
    const isInRoot = node?.box === this.#index.root;
    if (isInRoot && (this.#ids.has(id) || !(node.singleton || node.kind === 'value'))) return;
    if (isInRoot) this.#ids.add(id);
    for (const { to, kind } of this.#index.dependencies(id)) if (kind === 'one' || kind === 'optional') this.#add(to);
  }
}

/** The services that a search has found, marked in the drawing, and the one it is at. */
export class Matches {
  position = -1;
  #found: readonly ServiceNode[] = [];
  #marked: readonly HTMLElement[] = [];

  search({ view }: GraphIndex, text: string): number {
    this.#found = searchServices(view.nodes, text);
    this.position = -1;
    return this.#found.length;
  }

  move(by: -1 | 1): ServiceNode | undefined {
    const { length } = this.#found;
    this.position = this.position === -1 && by === -1 ? length - 1 : (this.position + by + length) % length;
    return this.#found[this.position];
  }

  mark(boxes: Boxes): void {
    for (const element of this.#marked) element.classList.remove('match');
    this.#marked = this.#found.flatMap(({ id }) => boxes.seen(id) ?? []);
    for (const element of this.#marked) element.classList.add('match');
  }
}
