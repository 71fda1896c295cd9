import type { Binding } from './registration.js';
import type { Container } from './container.js';
import { label } from './errors.js';
import { type AbstractClass, keyOf, kindOf, type Key } from './keys.js';

import { alike } from './problems.js';
import type { Match, Shape } from './shape.js';
import { declaredShapes, type ScopeDeclaration } from './verify.js';

/** One service, or a key that a service depends on and that is not registered. */
export interface GraphNode {
  /** Edges refer to the node by it; unique within the graph. */
  readonly id: string;
  /** The key of the service. */
  readonly key: Key;
  /** How it is made; `missing` where it is not registered. */
  readonly kind: Binding['source']['kind'] | 'missing';
  /** True if its scope keeps the instance. */
  readonly singleton: boolean;
  /** The tags of the scope that has it, and of those above it. */
  readonly scope: readonly (readonly string[])[];
  /** The feature that registers it, where it has one. */
  readonly feature: string | undefined;
  /** The class or factory that makes it. */
  readonly madeBy: ((...needs: never[]) => unknown) | AbstractClass | undefined;
}

/** `from` depends on `to`. */
export interface GraphEdge {
  /** The `id` of the service that depends on the other. */
  readonly from: string;
  /** The `id` of its dependency. */
  readonly to: string;
  /** How it is injected: the service itself, or by `lazy`, `all` or `optional`. */
  readonly kind: 'one' | 'lazy' | 'all' | 'optional';
}

/** An optional dependency on a key that is registered nowhere, so that it is always undefined. */
export interface AbsentDependency {
  /** The `id` of the service that asks for it. */
  readonly from: string;
  /** The key that is not registered. */
  readonly key: Key;
  /** A registered key that differs from it by one letter: one of them may be misspelt. */
  readonly similar: Key | undefined;
}

/** The dependency graph, as data. */
export interface Graph {
  /** The services, and the keys that are missing. */
  readonly nodes: readonly GraphNode[];
  /** The dependencies between them. */
  readonly edges: readonly GraphEdge[];
  /** Dependencies that services list with `optional`, and that no scope has. */
  readonly absent: readonly AbsentDependency[];
}

/**
 * Lists the services of the container, and of scopes like the declared ones, with their dependencies. It makes no instances.
 *
 * @param container - the application's container
 * @param scopes - the kinds of scope that the application opens, as for `verify`
 * @returns the graph; what a factory resolves by itself is not in it
 * @throws `ContainerError` `AMBIT_DISPOSED`: the container is disposed; `AMBIT_OPTION`: the tags of a scope are not a list of strings
 *
 * @example
 * ```ts
 * import { graph } from '@ambit/container/tools';
 * const app = new Container({ tags: ['application'] });
 * const { nodes } = graph(app, { tags: ['request'] });
 * const missing = nodes.filter(({ kind }) => kind === 'missing').map(({ key }) => key);
 * ```
 */
export function graph(container: Container, ...scopes: readonly ScopeDeclaration[]): Graph {
  container.refuseDisposed('graph');
  const shapes = declaredShapes(container, scopes);
  const nodes = new Map<Shape, Map<Binding | Key, GraphNode>>(shapes.map((shape) => [shape, new Map()]));
  const edges = new Map<string, GraphEdge>();
  const absent = new Map<string, AbsentDependency>();
  let count = 0;

  const node = (owner: Shape, key: Key, binding?: Binding): string => {
    const ofOwner = nodes.get(owner) ?? new Map<Binding | Key, GraphNode>();
    nodes.set(owner, ofOwner);
    const known = ofOwner.get(binding ?? key);
    if (known) return known.id;
    const id = `n${count++}`;
    ofOwner.set(binding ?? key, {
      id,
      key,
      kind: binding?.source.kind ?? 'missing',
      singleton: binding?.singleton ?? false,
      scope: owner.lineage,
      feature: binding?.declared?.feature,
      madeBy: binding && makerOf(binding),
    });
    return id;
  };

  for (const shape of shapes) {
    const keys = new Set(shape.keys());
    // The set grows while it is read, because classes need no registration.
    for (const { binding, owner } of matchesOf(keys, shape)) {
      const from = node(owner, binding.key, binding);
      const home = binding.singleton ? owner : shape;
      for (const dependency of home.dependencies(binding)) {
        const kind = kindOf(dependency);
        const key = keyOf(dependency);
        if (key === undefined) continue;
        const found = kind === 'optional' ? home.matches(key)[0] : home.match(key);
        if (kind !== 'optional' || found) keys.add(key);
        if (kind === 'optional' && !shapes.some((other) => other.reachable(key)[0])) {
          const similar = shapes.flatMap((other) => other.keys()).find((one) => alike(one, key));
          absent.set(`${from} ${label(key)}`, { from, key, similar });
        }
        const targets = kind === 'all' ? home.matches(key) : found ? [found] : [];
        const ids = targets.map((to) => node(to.owner, key, to.binding));
        if (kind !== 'all' && kind !== 'optional' && !found) {
          const inner = shapes.find((other) => other.isBelow(home) && other.match(key));
          const captive = inner?.match(key);
          // A transient may be meant for the scopes below.
          if (!captive) ids.push(node(home, key));
          else if (binding.singleton) ids.push(node(captive.owner, key, captive.binding));
        }
        for (const to of ids) edges.set(`${from} ${to} ${kind}`, { from, to, kind });
      }
    }
  }
  return {
    nodes: [...nodes.values()].flatMap((ofOwner) => [...ofOwner.values()]),
    edges: [...edges.values()],
    absent: [...absent.values()],
  };
}

function makerOf({ source }: Binding): GraphNode['madeBy'] {
  if (source.kind === 'class') return source.target;
  return source.kind === 'factory' ? source.make : undefined;
}

function* matchesOf(keys: ReadonlySet<Key>, shape: Shape): Iterable<Match> {
  for (const key of keys) {
    const registered = shape.matches(key);
    const unregistered = registered[0] ? undefined : shape.match(key);
    yield* unregistered ? [unregistered] : registered;
  }
}

/**
 * Draws the graph as Mermaid text, one box a scope.
 *
 * @param options - the graph, from {@link graph}
 * @returns a `flowchart`, for Markdown pages and the Mermaid editor
 *
 * @example
 * ```ts
 * import { graph, toMermaid } from '@ambit/container/tools';
 * const app = new Container({ tags: ['application'] });
 * toMermaid(graph(app, { tags: ['request'] }));
 * ```
 */
export function toMermaid({ nodes, edges }: Pick<Graph, 'edges' | 'nodes'>): string {
  const boxes = new Map<string, GraphNode[]>();
  for (const node of nodes) {
    const title = node.scope.map((tags) => tags.join(', ') || 'no tags').join(' > ');
    boxes.set(title, [...(boxes.get(title) ?? []), node]);
  }
  // Mermaid gives some characters a meaning: these are written as their code points.
  const quoted = (text: string) =>
    `"${text.replaceAll(/[^\p{L}\p{N} .,:()[\]>?_-]/gu, (mark) => `#${mark.codePointAt(0)};`)}"`;
  const arrow = { one: '-->', lazy: '-.->', all: '==>', optional: '--o' };
  return [
    'flowchart LR',
    ...[...boxes].flatMap(([title, inside], i) => [
      `  subgraph s${i} [${quoted(title)}]`,
      ...inside.map(
        ({ id, key, kind }) =>
          `    ${id}${kind === 'missing' ? `{{${quoted(`${label(key)} is missing`)}}}` : `[${quoted(label(key))}]`}`,
      ),
      '  end',
    ]),
    ...edges.map(({ from, to, kind }) => `  ${from} ${arrow[kind]} ${to}`),
  ].join('\n');
}
