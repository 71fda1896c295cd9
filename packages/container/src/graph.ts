import type { Container } from './container.js';
import { label } from './errors.js';
import { All, keyOf, Lazy, type Key } from './keys.js';
import { refuseEnded } from './checks.js';
import type { Binding } from './registration.js';
import type { Place, Shape } from './shape.js';
import { declaredShapes, type ScopeDeclaration } from './verify.js';

/** One service, or a key that is asked for and missing. */
export interface GraphNode {
  readonly id: string;
  readonly key: Key;
  readonly kind: Binding['source']['kind'] | 'missing';
  readonly singleton: boolean;
  /** The tags of the scope that has it, and of those above it. */
  readonly scope: readonly (readonly string[])[];
}

/** `from` asks for `to`. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: 'one' | 'lazy' | 'all';
}

/** Who asks for whom, as data. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** The services of the container, and of scopes like the declared ones, with what each asks for. */
export function graph(container: Container, ...scopes: readonly ScopeDeclaration[]): Graph {
  refuseEnded(container, 'graph');
  const shapes = declaredShapes(container.shape, scopes);
  const nodes = new Map<Shape, Map<Binding | Key, GraphNode>>(shapes.map((shape) => [shape, new Map()]));
  const edges = new Map<string, GraphEdge>();
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
    });
    return id;
  };

  for (const shape of shapes) {
    const keys = new Set(shape.keys());
    // Grows while it is read: classes need no registration.
    for (const place of placesOf(keys, shape)) {
      const { binding, owner } = place;
      const from = node(owner, binding.key, binding);
      const home = binding.singleton ? owner : shape;
      for (const dependency of home.dependencies(binding)) {
        const kind = dependency instanceof Lazy ? 'lazy' : dependency instanceof All ? 'all' : 'one';
        const key = keyOf(dependency);
        if (key === undefined) continue;
        const found = home.place(key);
        keys.add(key);
        const targets = dependency instanceof All ? home.places(key) : found ? [found] : [];
        const ids = targets.map((to) => node(to.owner, key, to.binding));
        // What is not kept may be meant for other scopes than this.
        const elsewhere = !binding.singleton && shapes.some((other) => other.isBelow(home) && other.place(key));
        if (kind !== 'all' && !found && !elsewhere) ids.push(node(home, key));
        for (const to of ids) edges.set(`${from} ${to} ${kind}`, { from, to, kind });
      }
    }
  }
  return { nodes: [...nodes.values()].flatMap((ofOwner) => [...ofOwner.values()]), edges: [...edges.values()] };
}

function* placesOf(keys: ReadonlySet<Key>, shape: Shape): Iterable<Place> {
  for (const key of keys) {
    const places = shape.places(key);
    const unregistered = places[0] ? undefined : shape.place(key);
    yield* unregistered ? [unregistered] : places;
  }
}

/**
 * The graph as Mermaid text, one box a scope.
 *
 * @example
 * ```ts
 * import { graph, toMermaid } from '@ambit/container/tools';
 * const app = new Container({ tags: ['application'] });
 * toMermaid(graph(app, { tags: ['request'] }));
 * ```
 */
export function toMermaid({ nodes, edges }: Graph): string {
  const boxes = new Map<string, GraphNode[]>();
  for (const node of nodes) {
    const title = node.scope.map((tags) => tags.join(', ') || 'no tags').join(' > ');
    boxes.set(title, [...(boxes.get(title) ?? []), node]);
  }
  // Mermaid reads some marks as its own: these are written as their numbers.
  const quoted = (text: string) =>
    `"${text.replaceAll(/[^\p{L}\p{N} .,:()[\]>?_-]/gu, (mark) => `#${mark.codePointAt(0)};`)}"`;
  const arrow = { one: '-->', lazy: '-.->', all: '==>' };
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
