import type { ServiceEdge } from '../../src/wire.js';
import { svg } from '../dom.js';
import { groupBy } from '../group-by.js';
import type { Layout } from './graph-layout.js';
import { way } from './graph-way.js';

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
