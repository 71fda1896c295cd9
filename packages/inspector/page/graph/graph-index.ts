import type { GraphView, ServiceEdge, ServiceNode } from '../../src/wire.js';
import { groupBy } from '../group-by.js';

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
