import { type Container, ContainerError, type Key } from '@ambit/container';
import { explain, graph, type GraphNode, type ScopeDeclaration, verify } from '@ambit/container/tools';
import { boxOf, label, lineageOf, nameOf } from './names.js';
import { type Sign, signOf } from './signs.js';
import { definitionsOf } from './v8.js';
import type { GraphBox, GraphProblem, GraphView, ServiceNode } from './wire.js';

type Lineage = readonly (readonly string[])[];

/** The dependency graph of the application, and the problems that `verify()` finds in it, as plain data. */
export class Drawing {
  readonly #container: Container;
  readonly #scopes: readonly ScopeDeclaration[];
  #nodes: readonly GraphNode[] = [];
  /** While it opens scopes to look at them. */
  isLooking = false;

  constructor(container: Container, scopes: readonly ScopeDeclaration[]) {
    this.#container = container;
    this.#scopes = scopes.map(withSignals);
  }

  /** Read again each time: registrations may have been added. */
  view(): GraphView {
    const { nodes, edges } = graph(this.#container, ...this.#scopes);
    this.#nodes = nodes;
    const drawn = nodes.map(({ id, key, kind, singleton, scope }): ServiceNode => {
      return { id, key: label(key), kind, singleton, box: boxOf(scope) };
    });
    const problems = this.#problems().map(({ code, message, key, path, tags }): GraphProblem => {
      const keys = path.length > 0 ? path : key === undefined ? [] : [key];
      return { code, message, path: wayAlong(keys.map(label), boxOf(tags), { nodes: drawn, edges }) };
    });
    return { boxes: boxesOf(lineageOf(this.#container), this.#scopes), nodes: drawn, edges, problems };
  }

  /** Its problems, with the line of the class or factory that has to change. */
  signs(): Sign[] {
    const { problems } = this.view();
    // The advice depends on the last node of the path, which may be registered nowhere.
    const makers = problems.map(({ path }) => this.#madeBy(path.at(-2)) ?? this.#madeBy(path.at(-1)));
    const places = definitionsOf(makers);
    return problems.map(({ code, message }, i) => {
      const [what = '', ...lines] = message.split('\n');
      const hint = lines.map((line) => /^ *hint +(.*)$/.exec(line)?.[1]).find(Boolean);
      return signOf({ kind: 'graph', cause: what, error: code, where: places[i], about: what, fix: hint });
    });
  }

  /** The line where the class or factory of this node is defined. */
  definition(id: string): string | undefined {
    return definitionsOf([this.#madeBy(id)])[0];
  }

  /** The text of `explain()` for the key of this node, in a scope like the one that owns it. */
  explain(id: string): string | undefined {
    const node = this.#node(id);
    return node && this.#inScopeLike(node.scope, (scope) => String(explain(scope, node.key)));
  }

  #madeBy(id = ''): object | undefined {
    return this.#node(id)?.madeBy;
  }

  /** By its id, or by its key. */
  #node(id: string): GraphNode | undefined {
    if (this.#nodes.length === 0) this.view();
    return this.#nodes.find((one) => one.id === id) ?? this.#nodes.find(({ key }) => label(key) === id);
  }

  #problems(): ContainerError['problems'] {
    try {
      verify(this.#container, ...this.#scopes);
      return [];
    } catch (error) {
      if (error instanceof ContainerError) return error.problems;
      throw error;
    }
  }

  /** Opens temporary scopes with these tags, and disposes them again. */
  #inScopeLike<T>(lineage: Lineage, look: (scope: Container) => T): T {
    const opened: Container[] = [];
    let scope = this.#container;
    let declared = this.#scopes;
    this.isLooking = true;
    try {
      for (const tags of lineage.slice(lineageOf(scope).length)) {
        const declaration = declared.find((one) => nameOf(one.tags) === nameOf(tags));
        opened.unshift((scope = scope.createScope({ tags })));
        for (const key of declaration?.registers ?? [])
          scope.register(key as Extract<Key, string>, () => undefined as never);
        declared = declaration?.scopes ?? [];
      }
      return look(scope);
    } finally {
      this.isLooking = false;
      for (const one of opened) void one.dispose();
    }
  }
}

/** Hosts register these in the scope of each request, whatever the application declares. */
function withSignals(declared: ScopeDeclaration): ScopeDeclaration {
  const { tags, registers = [], scopes = [] } = declared;
  const signals = tags.includes('request') ? ['IRequestSignal', 'IShutdownSignal'] : [];
  return { ...declared, registers: [...new Set([...registers, ...signals])], scopes: scopes.map(withSignals) };
}

function boxesOf(lineage: Lineage, scopes: readonly ScopeDeclaration[], parent?: string): GraphBox[] {
  const id = boxOf(lineage);
  return [
    { id, tags: nameOf(lineage.at(-1) ?? []), parent },
    ...scopes.flatMap(({ tags, scopes: inner = [] }) => boxesOf([...lineage, tags], inner, id)),
  ];
}

/** The nodes with these keys, one after the other along the arrows; the one in the box, if there are several. */
function wayAlong(
  keys: readonly string[],
  box: string,
  { nodes, edges }: Pick<GraphView, 'edges' | 'nodes'>,
): string[] {
  const way: string[] = [];
  for (const key of keys) {
    const last = way.at(-1);
    const leadsTo = (id: string): boolean => edges.some(({ from, to }) => from === last && to === id);
    const fitting = nodes.filter((node) => node.key === key && (last === undefined || leadsTo(node.id)));
    const next = fitting.find((node) => node.box === box) ?? fitting[0];
    if (!next) break;
    way.push(next.id);
  }
  return way;
}
