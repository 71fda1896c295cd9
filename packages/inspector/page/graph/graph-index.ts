import type { GraphBox, GraphView, ServiceEdge, ServiceNode } from '../../src/wire.js';
import { groupBy } from '../format.js';

/** Services of one box that one feature registers. */
export interface Group {
  readonly id: string;
  readonly feature: string | undefined;
  readonly nodes: readonly ServiceNode[];
}

/** A box with what is in it. */
export interface BoxTree {
  readonly box: GraphBox;
  readonly groups: readonly Group[];
  readonly inner: readonly BoxTree[];
}

/** A graph with what is looked up often: services by id, and the arrows of each. */
export class GraphIndex {
  readonly view: GraphView;
  readonly nodes: ReadonlyMap<string, ServiceNode>;
  readonly roots: readonly BoxTree[];
  readonly #out: ReadonlyMap<string, readonly ServiceEdge[]>;
  readonly #in: ReadonlyMap<string, readonly ServiceEdge[]>;
  readonly #named: ReadonlyMap<string, readonly ServiceNode[]>;

  constructor(view: GraphView) {
    this.view = view;
    this.nodes = new Map(view.nodes.map((node) => [node.id, node]));
    this.#out = groupBy(view.edges, ({ from }) => from);
    this.#in = groupBy(view.edges, ({ to }) => to);
    this.#named = groupBy(view.nodes, ({ box, key }) => `${box}\n${key}`);
    const byBox = groupBy(this.#inOrder(), ({ box }) => box);
    const within = (parent: string | undefined): BoxTree[] =>
      view.boxes
        .filter((box) => box.parent === parent)
        .map((box) => ({ box, groups: groupsOf(byBox.get(box.id) ?? []), inner: within(box.id) }));
    this.roots = within(undefined);
  }

  /** The box of the application. */
  get root(): string {
    return this.roots[0]?.box.id ?? '';
  }

  dependencies(id: string): readonly ServiceEdge[] {
    return this.#out.get(id) ?? [];
  }

  dependents(id: string): readonly ServiceEdge[] {
    return this.#in.get(id) ?? [];
  }

  /** The service that a scope of this kind gets for the key: its own, or that of a scope around it. */
  idOf(box: string, key: string): string | undefined {
    return around(box).flatMap((at) => this.#named.get(`${at}\n${key}`) ?? [])[0]?.id;
  }

  /** The box itself, or the nearest one around it that is drawn. */
  boxAround(box: string): string {
    return around(box).find((at) => this.view.boxes.some(({ id }) => id === at)) ?? this.root;
  }

  /** Services that use the same things stand together, which uncrosses most arrows. */
  #inOrder(): ServiceNode[] {
    const numbers = new Map(this.view.nodes.map(({ id }, i) => [id, i]));
    const placeOf = ({ id }: ServiceNode): number => {
      const targets = this.dependencies(id).map(({ to }) => numbers.get(to) ?? 0);
      const sum = targets.reduce((total, number) => total + number, 0);
      return targets.length > 0 ? sum / targets.length : (numbers.get(id) ?? 0);
    };
    return this.view.nodes.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

/** `a > b > c`, `a > b` and `a` */
function around(box: string): string[] {
  const tags = box.split(' > ');
  return tags.map((_, i) => tags.slice(0, tags.length - i).join(' > '));
}

function groupsOf(nodes: readonly ServiceNode[]): Group[] {
  const groups = groupBy(nodes, ({ feature }) => feature);
  return Array.from(groups, ([feature, own]) => ({ id: `${own[0]?.box}\n${feature ?? ''}`, feature, nodes: own }));
}
