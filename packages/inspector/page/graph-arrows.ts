import type { ServiceEdge } from '../src/wire.js';
import { svg } from './dom.js';

interface Place {
  readonly left: number;
  readonly right: number;
  readonly middle: number;
}

/** How far an arrow between two services of one column swings out. */
const SWING = 20;

/** Draws the arrows on top of the boxes, from each service to what it needs. */
export class Arrows {
  readonly element: SVGSVGElement;
  readonly #paths: readonly { readonly edge: ServiceEdge; readonly path: SVGPathElement }[];
  readonly #nodes: ReadonlyMap<string, HTMLElement>;

  constructor(edges: readonly ServiceEdge[], nodes: ReadonlyMap<string, HTMLElement>) {
    this.#nodes = nodes;
    this.#paths = edges.map((edge) => {
      const classes = ['arrow', edge.kind, edge.problem ? 'wrong' : ''];
      return { edge, path: svg('path', { class: classes.join(' '), 'marker-end': 'url(#head)' }) };
    });
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
    this.element = svg('svg', { class: 'arrows', 'aria-hidden': 'true' }, svg('defs', {}, head));
    this.element.append(...this.#paths.map(({ path }) => path));
  }

  /** Draws the arrows again after the positions of services have changed. */
  layOut(content: HTMLElement): void {
    const origin = content.getBoundingClientRect();
    this.element.setAttribute('width', String(content.scrollWidth));
    this.element.setAttribute('height', String(content.scrollHeight));
    const places = new Map<string, Place>();
    for (const [id, node] of this.#nodes) {
      const { left, right, top, height } = node.getBoundingClientRect();
      places.set(id, { left: left - origin.left, right: right - origin.left, middle: top + height / 2 - origin.top });
    }
    for (const { edge, path } of this.#paths) {
      const from = places.get(edge.from);
      const to = places.get(edge.to);
      if (from && to) path.setAttribute('d', way(from, to));
    }
  }

  /** Highlights the arrows from and to a service. */
  light(node: string | undefined): void {
    for (const { edge, path } of this.#paths) {
      path.classList.toggle('out', edge.from === node);
      path.classList.toggle('in', edge.to === node);
    }
  }

  /** Flashes the arrows to the dependencies of a service that is being created. */
  flash(node: string): void {
    for (const { edge, path } of this.#paths) {
      if (edge.from !== node) continue;
      path.classList.add('used');
      setTimeout(() => path.classList.remove('used'), 900);
    }
  }
}

/** To the left if the dependency has a longer lifetime; a curve if both are in one column; to the right it is a captive dependency. */
function way(from: Place, to: Place): string {
  const inOneColumn = from.left < to.right && to.left < from.right;
  if (inOneColumn) {
    const x = Math.min(from.left, to.left);
    return `M${from.left} ${from.middle} C${x - SWING} ${from.middle} ${x - SWING} ${to.middle} ${to.left - 1} ${to.middle}`;
  }
  const [start, end, sign] = from.left > to.left ? [from.left, to.right + 1, -1] : [from.right, to.left - 1, 1];
  const pull = sign * Math.max(30, Math.abs(end - start) / 2.4);
  return `M${start} ${from.middle} C${start + pull} ${from.middle} ${end - pull} ${to.middle} ${end} ${to.middle}`;
}
