import type { ServiceEdge } from '../src/wire.js';
import { svg } from './dom.js';
import { groupBy } from './group-by.js';
import type { Layout } from './graph-layout.js';
import { way } from './graph-way.js';

/** Of more arrows than this nobody can follow one: only those of the chosen service are drawn, and those with a problem. */
const MOST = 300;
const FLASH_MS = 900;

/** The arrows on top of the boxes, from each service to what it depends on. */
export class Arrows {
  readonly element = svg('svg', { class: 'arrows', 'aria-hidden': 'true' });
  readonly #all = svg('g');
  readonly #few = svg('g');
  #out: ReadonlyMap<string, readonly ServiceEdge[]> = new Map();
  #in: ReadonlyMap<string, readonly ServiceEdge[]> = new Map();
  #places: Layout['places'] = new Map();
  #paths = new Map<ServiceEdge, SVGPathElement>();
  #lit: SVGPathElement[] = [];

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
    this.element.append(svg('defs', {}, head), this.#all, this.#few);
  }

  /** Returns how many arrows are left out until a service is chosen. */
  draw(edges: readonly ServiceEdge[], { width, height, places }: Layout): number {
    this.element.setAttribute('width', String(width));
    this.element.setAttribute('height', String(height));
    this.#places = places;
    this.#out = groupBy(edges, ({ from }) => from);
    this.#in = groupBy(edges, ({ to }) => to);
    const drawn = edges.length <= MOST ? edges : edges.filter(({ problem }) => problem).slice(0, MOST);
    this.#paths = new Map(drawn.map((edge) => [edge, this.#path(edge)]));
    this.#lit = [];
    this.#all.replaceChildren(...this.#paths.values());
    this.#few.replaceChildren();
    return edges.length - drawn.length;
  }

  /** Highlights the arrows from and to a service, and returns the ids at their other ends. */
  light(id: string | undefined): string[] {
    for (const path of this.#lit) path.classList.remove('out', 'in');
    this.#few.replaceChildren();
    this.#lit = [];
    if (id === undefined) return [];
    const [out, into] = [this.#out.get(id) ?? [], this.#in.get(id) ?? []];
    for (const edge of out) this.#light(edge, 'out');
    for (const edge of into) this.#light(edge, 'in');
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

  #light(edge: ServiceEdge, side: 'in' | 'out'): void {
    let path = this.#paths.get(edge);
    if (!path) this.#few.append((path = this.#path(edge)));
    path.classList.add(side);
    this.#lit.push(path);
  }

  #path({ from, to, kind, problem }: ServiceEdge): SVGPathElement {
    const [start, end] = [this.#places.get(from), this.#places.get(to)];
    const classes = ['arrow', kind, ...(problem ? ['wrong'] : [])].join(' ');
    return svg('path', { class: classes, 'marker-end': 'url(#head)', d: start && end ? way(start, end) : '' });
  }
}
