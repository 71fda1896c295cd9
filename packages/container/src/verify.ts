import type { Container } from './container.js';
import { ContainerError, showTags } from './errors.js';
import { refuseEnded } from './checks.js';
import { compile } from './compile.js';
import type { Key } from './keys.js';
import { tagsAsked } from './problems.js';
import type { Binding } from './registration.js';
import type { Shape } from './shape.js';

/** A kind of scope that the application opens, and what it does there. */
export interface ScopeDeclaration {
  readonly tags: readonly string[];
  /** Keys that are registered by hand on each such scope, such as `IConnection`. */
  readonly registers?: readonly Key[];
  /** Scopes that are opened within it. */
  readonly scopes?: readonly ScopeDeclaration[];
}

/** The shape of the container and of every declared scope, the outermost first. Copies, so that looking changes nothing. */
export function declaredShapes(shape: Shape, scopes: readonly ScopeDeclaration[]): Shape[] {
  const root = copied(shape);
  const within = (parent: Shape, declared: readonly ScopeDeclaration[]): Shape[] =>
    declared.flatMap(({ tags, registers = [], scopes: inner = [] }) => {
      const child = registers.reduce((learning, key) => learning.learn(key).shape, parent.child(tags));
      return [child, ...within(child, inner)];
    });
  return [root, ...within(root, scopes)];
}

const copied = (shape: Shape): Shape => shape.moved(shape.parent && copied(shape.parent));

/**
 * Throws one error with everything that classes and lists of keys ask for and would not get, in the container and in scopes
 * like the declared ones. Makes no instance, so what a factory or a decorator resolves by itself it cannot see.
 *
 * @example
 * ```ts
 * import { verify } from '@ambit/container/tools';
 * const app = new Container({ tags: ['application'] });
 * verify(app, { tags: ['request'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] });
 * ```
 */
export function verify(container: Container, ...scopes: readonly ScopeDeclaration[]): void {
  refuseEnded(container, 'verify');
  const shapes = declaredShapes(container.shape, scopes);
  const problems = new Map<string, ContainerError>();
  const identity = identities();
  const note = (found: readonly ContainerError[]) =>
    found.forEach((problem) => problems.set(identity(problem), problems.get(identity(problem)) ?? problem));
  const possible = new Set<Binding>();
  const impossible = new Map<Binding, ContainerError[]>();

  for (const shape of shapes) {
    for (const key of shape.keys())
      for (const place of shape.places(key)) {
        const found: ContainerError[] = [];
        const report = (problem: ContainerError) => void found.push(problem);
        compile(shape, place, [], { shapes, dry: true, report });
        // What a scope keeps is wrong wherever it is wrong; what it does not keep may be meant for other scopes only.
        if (place.binding.singleton) note(found);
        else if (found.length === 0) possible.add(place.binding);
        else impossible.set(place.binding, found);
      }
  }
  for (const [binding, found] of impossible) if (!possible.has(binding)) note(found);
  note(unreachable(shapes));

  if (problems.size > 0)
    throw new ContainerError('AMBIT_INVALID', {
      about: `${problems.size} ${problems.size === 1 ? 'problem' : 'problems'} in ${lives(shapes)}`,
      problems: [...problems.values()],
    });
}

/** Tells two problems apart, but not one problem that was met on different ways. */
function identities(): (problem: ContainerError) => string {
  const ids = new Map<Key | undefined, number>();
  const id = (key: Key | undefined) => {
    ids.set(key, ids.get(key) ?? ids.size);
    return ids.get(key) as number;
  };
  return ({ code, key, path, message }) => {
    const ring = path.slice(path.indexOf(key as Key) + 1).map(id);
    if (code === 'AMBIT_CYCLE') return JSON.stringify(ring.toSorted((one, two) => one - two));
    // The path of a parameter without a key ends with the one who asks.
    const who = code === 'AMBIT_NO_KEY_FOR_PARAMETER' ? [key] : path.slice(-2);
    return JSON.stringify([...who.map(id), message.split('\n')[0]]);
  };
}

const lives = (shapes: readonly Shape[]) => shapes.map(({ lineage }) => showTags(lineage)).join(', ');

/** Registrations whose predicate says no to every declared shape: a tag was misspelt, or a scope was not declared. */
function unreachable(shapes: readonly Shape[]): ContainerError[] {
  return shapes.flatMap((shape) =>
    [...shape.bindings.values()]
      .flat()
      .filter(({ when }) => when && !shapes.some((other) => (other === shape || other.isBelow(shape)) && when(other)))
      .map(
        (binding) =>
          new ContainerError('AMBIT_UNREACHABLE', {
            key: binding.key,
            tags: shape.lineage,
            hint: `its predicate asks for ${tagsAsked([binding], shape)}; declared are ${lives(shapes)}`,
          }),
      ),
  );
}
