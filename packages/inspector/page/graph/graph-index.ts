import type { GraphBox, GraphView, ServiceEdge, ServiceNode } from '../../src/wire.js';
import { groupBy } from '../format.js';
import type { Rect } from './graph-layout.js';

/** A graph with what is looked up often: services by id, and the arrows of each. */
export class GraphIndex {
  readonly view: GraphView;
  readonly nodes: ReadonlyMap<string, ServiceNode>;
  readonly #out: ReadonlyMap<string, readonly ServiceEdge[]>;
  readonly #in: ReadonlyMap<string, readonly ServiceEdge[]>;
  readonly #places = new Map<string, number>();
  readonly #ids = new Map<string, string>();
  readonly #boxes: ReadonlySet<string>;
  readonly #given = new Map<string, string[]>();

  constructor(view: GraphView) {
    this.view = view;
    this.#boxes = new Set(view.boxes.map(({ id }) => id));
    this.nodes = new Map(view.nodes.map((node) => [node.id, node]));
    this.#out = groupBy(view.edges, ({ from }) => from);
    this.#in = groupBy(view.edges, ({ to }) => to);
    const order = new Map(view.nodes.map(({ id }, i) => [id, i]));
    for (const { id, box, key, kind } of view.nodes) {
      const targets = this.dependencies(id).map(({ to }) => order.get(to) ?? 0);
      this.#places.set(id, targets.length > 0 ? average(targets) : (order.get(id) ?? 0));
      const name = `${box}\n${key}`;
      if (!this.#ids.has(name)) this.#ids.set(name, id);
      if (kind === 'register' || kind === 'value') this.#given.set(box, [...this.givenIn(box), id]);
    }
  }

  dependencies(id: string): readonly ServiceEdge[] {
    return this.#out.get(id) ?? [];
  }

  dependents(id: string): readonly ServiceEdge[] {
    return this.#in.get(id) ?? [];
  }

  idOf(box: string, key: string): string | undefined {
    return this.#ids.get(`${box}\n${key}`);
  }

  /** The box of the application. */
  get root(): string {
    return this.view.boxes.find(({ parent }) => parent === undefined)?.id ?? '';
  }

  /** Services of a box that no factory creates: they exist as long as the scope is open. */
  givenIn(box: string): readonly string[] {
    return this.#given.get(box) ?? [];
  }

  /** The box itself, or the nearest one around it that is drawn. */
  boxAround(box: string): string | undefined {
    for (let id = box; id !== ''; id = id.slice(0, Math.max(0, id.lastIndexOf(' > '))))
      if (this.#boxes.has(id)) return id;
    return undefined;
  }

  /** Services that use the same things stand together, which uncrosses most arrows. */
  inOrder(nodes: readonly ServiceNode[]): ServiceNode[] {
    const place = ({ id }: ServiceNode): number => this.#places.get(id) ?? 0;
    return nodes.toSorted((one, other) => place(one) - place(other));
  }

  /** The service, what it depends on and what depends on it, up to so many arrows away. */
  around(id: string, depth: number): Set<string> {
    const found = new Set([id]);
    const follow = (next: (id: string) => readonly string[]): void => {
      const seen = new Set([id]);
      let border = [id];
      for (let step = 0; step < depth && border.length > 0; step++) {
        border = border.flatMap(next).filter((one) => !seen.has(one) && seen.add(one));
        for (const one of border) found.add(one);
      }
    };
    follow((one) => this.dependencies(one).map(({ to }) => to));
    follow((one) => this.dependents(one).map(({ from }) => from));
    return found;
  }
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/** The services whose key or feature contains every word of the text, those whose key starts with it first. */
export function searchServices(nodes: readonly ServiceNode[], text: string): ServiceNode[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const found = nodes.filter(({ key, feature = '' }) => {
    const names = `${key}\n${feature}`.toLowerCase();
    return words.every((word) => names.includes(word));
  });
  const [first = ''] = words;
  const starts = ({ key }: ServiceNode): boolean =>
    [first, `i${first}`].some((start) => key.toLowerCase().startsWith(start));
  return [...found.filter(starts), ...found.filter((node) => !starts(node))];
}

/** How far an arrow between two services of one column swings out. */
const SWING = 20;

/** To the left if the dependency has a longer lifetime; a curve if both are in one column; to the right it is a captive dependency. */
export function way(from: Rect, to: Rect): string {
  const [fromY, toY] = [from.y + from.height / 2, to.y + to.height / 2];
  const inOneColumn = from.x < to.x + to.width && to.x < from.x + from.width;
  if (inOneColumn) {
    const x = Math.min(from.x, to.x);
    return `M${from.x} ${fromY} C${x - SWING} ${fromY} ${x - SWING} ${toY} ${to.x - 1} ${toY}`;
  }
  const [start, end, sign] = from.x > to.x ? [from.x, to.x + to.width + 1, -1] : [from.x + from.width, to.x - 1, 1];
  const pull = sign * Math.max(30, Math.abs(end - start) / 2.4);
  return `M${start} ${fromY} C${start + pull} ${fromY} ${end - pull} ${toY} ${end} ${toY}`;
}

/** The user's choice of what is visible. */
export interface Choices {
  /** Only this service, and what is up to `depth` arrows away from it. */
  readonly focus: { readonly node: string; readonly depth: number } | undefined;
  /** Only services of this feature; an empty text for those without one. */
  readonly feature: string | undefined;
  /** Ids of boxes and groups. */
  readonly collapsed: ReadonlySet<string>;
}

/** Services of one box that one feature registers. */
export interface ShownGroup {
  readonly id: string;
  readonly feature: string | undefined;
  readonly collapsed: boolean;
  readonly nodes: readonly ServiceNode[];
}

export interface ShownBox {
  readonly box: GraphBox;
  readonly collapsed: boolean;
  /** How many services it has, with those of the boxes in it. */
  readonly size: number;
  readonly groups: readonly ShownGroup[];
  readonly inner: readonly ShownBox[];
}

export interface Shown {
  readonly roots: readonly ShownBox[];
  /** Between what is drawn: services, collapsed groups and collapsed boxes. */
  readonly edges: readonly ServiceEdge[];
  /** For each visible service, the id that is drawn for it: its own, or that of the group or box that is collapsed over it. */
  readonly drawnAs: ReadonlyMap<string, string>;
}

export const NOTHING_CHOSEN: Choices = { focus: undefined, feature: undefined, collapsed: new Set() };

export function groupId(box: string, feature = ''): string {
  return `${box}\n${feature}`;
}

/** The part of a graph that is drawn. */
export function shownOf(index: GraphIndex, choices: Choices): Shown {
  const { focus, feature, collapsed } = choices;
  const near = focus && index.around(focus.node, focus.depth);
  const chosen = index.view.nodes.filter(
    (node) => (!near || near.has(node.id)) && (feature === undefined || (node.feature ?? '') === feature),
  );
  const isPart = near !== undefined || feature !== undefined;
  const byBox = groupBy(chosen, ({ box }) => box);
  const drawnAs = new Map<string, string>();

  const show = (box: GraphBox, above: string | undefined): ShownBox[] => {
    const cover = above ?? (collapsed.has(box.id) ? box.id : undefined);
    const own = index.inOrder(byBox.get(box.id) ?? []);
    const groups = groupsOf(box.id, own, collapsed);
    for (const group of groups)
      for (const { id } of group.nodes) drawnAs.set(id, cover ?? (group.collapsed ? group.id : id));
    const inner = index.view.boxes.filter(({ parent }) => parent === box.id).flatMap((one) => show(one, cover));
    const size = own.length + inner.reduce((sum, one) => sum + one.size, 0);
    return isPart && size === 0 ? [] : [{ box, collapsed: collapsed.has(box.id), size, groups, inner }];
  };
  const roots = index.view.boxes.filter(({ parent }) => parent === undefined).flatMap((box) => show(box, undefined));
  return { roots, edges: edgesBetween(index.view.edges, drawnAs), drawnAs };
}

function groupsOf(box: string, nodes: readonly ServiceNode[], collapsed: ReadonlySet<string>): ShownGroup[] {
  return Array.from(
    groupBy(nodes, ({ feature }) => feature),
    ([feature, own]): ShownGroup => {
      const id = groupId(box, feature);
      return { id, feature, collapsed: feature !== undefined && collapsed.has(id), nodes: own };
    },
  );
}

/** Arrows from or to a collapsed group become one arrow; those within it are left out. */
function edgesBetween(edges: readonly ServiceEdge[], drawnAs: ReadonlyMap<string, string>): ServiceEdge[] {
  const found = new Map<string, ServiceEdge>();
  for (const edge of edges) {
    const from = drawnAs.get(edge.from);
    const to = drawnAs.get(edge.to);
    if (from === undefined || to === undefined || (from === to && edge.from !== edge.to)) continue;
    const name = `${from}\0${to}`;
    const known = found.get(name);
    const kind = known && known.kind !== edge.kind ? 'one' : edge.kind;
    found.set(name, { from, to, kind, problem: edge.problem || (known?.problem ?? false) });
  }
  return [...found.values()];
}
