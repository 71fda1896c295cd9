import { type Container, ContainerError, type Key } from '@ambit/container';
import { explain, graph, type GraphNode, type ScopeDeclaration, verify } from '@ambit/container/tools';
import { boxOf, label, lineageOf, nameOf } from './names.js';
import type { GraphBox, GraphProblem, GraphView, ServiceEdge, ServiceNode } from './wire.js';

/** The dependency graph of the application, and the problems that `verify()` finds in it, as plain data. */
export class Drawing {
  readonly #container: Container;
  readonly #scopes: readonly ScopeDeclaration[];
  #nodes: readonly GraphNode[] = [];

  constructor(container: Container, scopes: readonly ScopeDeclaration[]) {
    this.#container = container;
    this.#scopes = scopes;
  }

  /** Read again each time: registrations may have been added. */
  view(): GraphView {
    const { nodes, edges } = graph(this.#container, ...this.#scopes);
    this.#nodes = nodes;
    const drawn = nodes.map(({ id, key, kind, singleton, scope, feature }): ServiceNode => ({
      id,
      key: label(key),
      kind,
      singleton,
      box: boxOf(scope),
      ...(feature !== undefined && { feature }),
    }));
    const found = this.#problems();
    const wrong = new Set(found.flatMap(({ path }) => path.slice(1).map((key, i) => `${path[i]} ${key}`)));
    const keys = new Map(drawn.map(({ id, key }) => [id, key]));
    return {
      boxes: this.#boxes(),
      nodes: drawn,
      edges: edges.map((edge): ServiceEdge => ({
        ...edge,
        problem: wrong.has(`${keys.get(edge.from)} ${keys.get(edge.to)}`),
      })),
      problems: found.map(({ code, message, key, path }): GraphProblem => {
        const about = drawn.filter((node) => node.key === key);
        const missing = about.filter(({ kind }) => kind === 'missing');
        const who = drawn.filter((node) => node.key !== key && node.key === path.at(-2));
        return { code, message, nodes: [...(missing.length > 0 ? missing : about), ...who].map(({ id }) => id) };
      }),
    };
  }

  /** The text of `explain()` for the key of this node, in a scope like the one that owns it. */
  explain(id: string): string | undefined {
    if (this.#nodes.length === 0) this.view();
    const node = this.#nodes.find((one) => one.id === id);
    return node && this.#inScopeLike(node.scope, (scope) => String(explain(scope, node.key)));
  }

  #boxes(): GraphBox[] {
    const boxes = new Map<string, GraphBox>();
    const add = (lineage: readonly (readonly string[])[], parent?: string): string => {
      const id = boxOf(lineage);
      boxes.set(id, { id, tags: nameOf(lineage.at(-1) ?? []), ...(parent !== undefined && { parent }) });
      return id;
    };
    const above = lineageOf(this.#container);
    const root = add(above);
    const below = (
      lineage: readonly (readonly string[])[],
      parent: string,
      scopes: readonly ScopeDeclaration[],
    ): void => {
      for (const { tags, scopes: inner = [] } of scopes) {
        const longer = [...lineage, tags];
        below(longer, add(longer, parent), inner);
      }
    };
    below(above, root, this.#scopes);
    return [...boxes.values()];
  }

  #problems(): { code: string; message: string; key: string | undefined; path: readonly string[] }[] {
    try {
      verify(this.#container, ...this.#scopes);
      return [];
    } catch (error) {
      if (!(error instanceof ContainerError)) throw error;
      return error.problems.map(({ code, message, key, path }) => ({
        code,
        message,
        key: key === undefined ? undefined : label(key),
        path: path.map(label),
      }));
    }
  }

  /** Opens temporary scopes with these tags, and disposes them again. */
  #inScopeLike<T>(lineage: readonly (readonly string[])[], look: (scope: Container) => T): T {
    const opened: Container[] = [];
    let scope = this.#container;
    let declared = this.#scopes;
    for (const tags of lineage.slice(lineageOf(scope).length)) {
      const declaration = declared.find((one) => nameOf(one.tags) === nameOf(tags));
      opened.unshift((scope = scope.createScope({ tags })));
      for (const key of declaration?.registers ?? [])
        scope.register(key as Extract<Key, string>, () => undefined as never);
      declared = declaration?.scopes ?? [];
    }
    try {
      return look(scope);
    } finally {
      for (const one of opened) void one.dispose();
    }
  }
}
