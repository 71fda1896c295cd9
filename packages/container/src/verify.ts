import type { Container } from './container.js';
import { ContainerError, label, showTags } from './errors.js';
import { compile } from './compile.js';
import type { Key } from './keys.js';
import { tagsAsked } from './problems.js';
import type { Binding } from './registration.js';
import type { Place, Shape } from './shape.js';

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
  const root = shape.moved(shape.parent);
  const within = (parent: Shape, declared: readonly ScopeDeclaration[]): Shape[] =>
    declared.flatMap(({ tags, registers = [], scopes: inner = [] }) => {
      const child = registers.reduce((learning, key) => learning.learn(key), parent.child(tags));
      return [child, ...within(child, inner)];
    });
  return [root, ...within(root, scopes)];
}

/** Plans every binding in every shape, and throws all problems as one error. */
export function verify(container: Container, ...scopes: readonly ScopeDeclaration[]): void {
  const shapes = declaredShapes(container.shape, scopes);
  const problems = new Map<string, ContainerError>();
  const note = (found: readonly ContainerError[]) =>
    found.forEach((problem) => problems.set(identity(problem), problems.get(identity(problem)) ?? problem));
  const possible = new Set<Binding>();
  const impossible = new Map<Binding, ContainerError[]>();

  for (const shape of shapes)
    for (const key of shape.keys())
      for (const place of shape.places(key)) {
        const found = problemsOf(shape, place, shapes);
        // What a scope keeps is wrong wherever it is wrong; what it does not keep may be meant for other scopes only.
        if (place.binding.singleton) note(found);
        else if (found.length > 0) impossible.set(place.binding, found);
        else possible.add(place.binding);
      }
  for (const [binding, found] of impossible) if (!possible.has(binding)) note(found);
  note(unreachable(shapes));

  if (problems.size > 0)
    throw new ContainerError('AMBIT_INVALID', {
      about: `${problems.size} ${problems.size === 1 ? 'problem' : 'problems'} in ${shapes.length} kinds of scope`,
      problems: [...problems.values()],
    });
}

function problemsOf(shape: Shape, place: Place, shapes: readonly Shape[]): ContainerError[] {
  const found: ContainerError[] = [];
  compile(shape, place, [], { shapes, dry: true, report: (problem) => void found.push(problem) });
  return found;
}

/** Equal for two problems with one cause, met on different ways. */
function identity({ code, key, path, message }: ContainerError): string {
  const about =
    code === 'AMBIT_CYCLE'
      ? path
          .slice(path.indexOf(key as Key))
          .map(label)
          .sort()
      : [path.at(-2) ?? '', message.split('\n')[0] ?? ''].map(label);
  return JSON.stringify([code, ...new Set(about)]);
}

/** Registrations whose predicate says no to every declared shape: a tag was misspelt, or a scope was not declared. */
function unreachable(shapes: readonly Shape[]): ContainerError[] {
  return shapes.flatMap((shape) =>
    [...shape.bindings.values()]
      .flat()
      .filter(({ when }) => when && !shapes.some((other) => (other === shape || other.isBelow(shape)) && when(other)))
      .map(
        ({ key }) =>
          new ContainerError('AMBIT_UNREACHABLE', {
            key,
            hint: `its predicate asks for ${tagsAsked(key, shape)}; declared are ${shapes.map(({ lineage }) => showTags(lineage)).join('; ')}`,
          }),
      ),
  );
}
