import type { GraphBox, ServiceEdge, ServiceNode } from '../../src/wire.js';
import type { GraphIndex } from './graph-index.js';
import { groupBy } from '../group-by.js';

/** What the user has chosen to see. */
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
  /** What each service is drawn as: itself, or the group or box that is collapsed over it. Hidden services are left out. */
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
