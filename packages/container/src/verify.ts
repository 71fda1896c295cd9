import type { Binding } from './registration.js';
import { ContainerError, hintOf, label, show, showTags } from './errors.js';
import { keyOf, kindOf, type Key } from './keys.js';
import { compile, memos, Unavailable, type Walk } from './compile.js';
import type { Container } from './container.js';
import { missing, tagsAsked, type Step } from './problems.js';
import { nameAllInShapes } from './registering.js';
import type { Match, Shape } from './shape.js';
import { SHARED } from './templates.js';

/** A dependency of which an inner scope has its own instance, and which the service gets from the outer scope all the same. */
export interface Split {
  /** The keys from the service to the dependency, with the transients between them. */
  readonly path: readonly Key[];
  /** The scopes from which the service gets the dependency. */
  readonly used: Shape;
}

/** The keys that are registered again between `home` and the scope below it, unless `allowSplit()` says that it is meant. */
function againBelow(home: Shape, inner: Shape): Set<Key> {
  const again = inner.keys().filter((key) => {
    const [nearest] = inner.matches(key);
    return nearest?.owner.isBelow(home) && !nearest.binding.allowSplit;
  });
  return new Set(again);
}

/** True if scopes of the inner shape resolve the key to something that belongs below `home`. */
const isOwn = (key: Key, home: Shape, inner: Shape): boolean => inner.match(key)?.owner.isBelow(home) ?? false;

interface Path {
  readonly path: readonly Key[];
  readonly found: Match | undefined;
}

/**
 * Finds how an instance of the binding, made in scopes of the shape `home`, gets one of the keys: by its own list, or by the list of a
 * transient, which is made for the service that asks for it. A dependency of the kind `except` does not count; one behind an `all` does.
 */
export function pathsTo(keys: ReadonlySet<Key>, binding: Binding, home: Shape, except: 'all' | 'lazy'): Path[] {
  const paths: Path[] = [];
  const seen = new Set<Binding>();
  const open: Path[] = [{ path: [binding.key], found: { binding, owner: home } }];
  for (const { path, found } of open) {
    if (!found || seen.has(found.binding)) continue;
    seen.add(found.binding);
    for (const dependency of home.dependencies(found.binding)) {
      const key = keyOf(dependency);
      const kind = kindOf(dependency);
      if (key === undefined || (kind === 'lazy' && except === kind)) continue;
      const all = kind === 'all' ? home.matches(key) : [home.match(key)];
      const next = { path: [...path, key], found: all[0] };
      if (keys.has(key) && kind !== except) paths.push(next);
      else for (const one of all) if (!one?.binding.singleton) open.push({ path: next.path, found: one });
    }
  }
  return paths;
}

/**
 * Finds the dependencies of the singleton, made in scopes of the shape `home`, that scopes of the inner shape have again. An inner scope
 * that has the service itself again gets a consistent one. `all()` is no split: the inner scope's list contains the outer one's.
 */
export function splitsOf(binding: Binding, home: Shape, inner: Shape, again = againBelow(home, inner)): Split[] {
  if (!binding.singleton || binding.allowSplit || again.size === 0 || isOwn(binding.key, home, inner)) return [];
  const paths = pathsTo(again, binding, home, 'all');
  return paths.flatMap(({ path, found }) => (found ? { path, used: found.owner } : []));
}

/** Each service that would keep the dependency of an outer scope where an inner scope has one of its own. */
const splitKeys = (shapes: readonly Shape[]): ContainerError[] =>
  shapes.flatMap((home) => {
    const inside = shapes.filter((shape) => shape.isBelow(home));
    const own = inside[0] ? home.keys().flatMap((key) => home.matches(key).filter((one) => isKept(one, home))) : [];
    return inside.flatMap((inner) => {
      const again = againBelow(home, inner);
      return own.flatMap(({ binding }) =>
        splitsOf(binding, home, inner, again).map((split) => splitProblem(binding, home, inner, split)),
      );
    });
  });

const isKept = ({ binding, owner }: Match, home: Shape): boolean => owner === home && binding.singleton === true;

function splitProblem({ key, declared }: Binding, home: Shape, inner: Shape, { path, used }: Split): ContainerError {
  const shown = show(key);
  const both = `['${nameOf(home)}', '${nameOf(inner)}']`;
  const how = declared
    ? `of(${both}, ...) in place of of('${nameOf(home)}', ...)`
    : `add the same registration with scope(hasTag('${nameOf(inner)}'))`;
  return new ContainerError('AMBIT_SPLIT_KEY', {
    key,
    about: `Split key: ${shown} of ${showTags(home.lineage)} keeps the ${show(path.at(-1))} of ${showTags(used.lineage)} also in ${showTags(inner.lineage)}, which has its own`,
    path,
    tags: home.lineage,
    hint: `register ${shown} for both scopes, so that each has one with its own ${show(path.at(-1))}: ${how}. If it is meant to keep the outer one, add .pipe(allowSplit())`,
  });
}

const nameOf = ({ tags }: Shape): string => tags[0] ?? 'no tags';

/** The sentence of `explain()` about a split key. */
export const sayOf = ({ path, used }: Split, inner: Shape): string =>
  `its ${show(path.at(-1))} is that of ${showTags(used.lineage)}, although ${showTags(inner.lineage)} has its own`;

/** A kind of scope that the application opens, and what it registers and opens there. */
export interface ScopeDeclaration {
  /** The tags that it is opened with. */
  readonly tags: readonly string[];
  /** Keys that are registered directly on each such scope, such as `IConnection`. */
  readonly registers?: readonly Key[];
  /**
   * Keys that the code which opens it resolves from the scope around, such as the pool of a transaction: they must be registered there, and
   * not be transient. `IConnection` of `@ambit/transaction` requires `IDatabasePool` by itself.
   */
  readonly requires?: readonly Key[];
  /** Scopes that are opened within it. */
  readonly scopes?: readonly ScopeDeclaration[];
}

/** Checks of `verify()` that an application asks for. */
export interface VerifyOptions {
  /**
   * Refuses a service of a scope that gets what the code that opens the scope `requires`, such as the pool of a transaction, itself or
   * through services of outer scopes: they would work outside of the transaction. `allow` lists keys on whose paths that is meant.
   */
  readonly noEscape?: boolean | { readonly allow: readonly Key[] };
}

/** The shape of the container and of every declared scope, the outermost first. Copies, so that the check changes nothing. */
export function declaredShapes(container: Container, scopes: readonly ScopeDeclaration[]): Shape[] {
  nameAllInShapes(container);
  const root = copyOf(container.shape);
  const within = (parent: Shape, declared: readonly ScopeDeclaration[]): Shape[] =>
    declared.flatMap(({ tags, registers = [], scopes: inner = [] }) => {
      const child = registers.reduce((shape, key) => shape.withRegistered(key), parent.child(tags));
      return [child, ...within(child, inner)];
    });
  return [root, ...within(root, scopes)];
}

const copyOf = (shape: Shape): Shape => shape.copy(shape.parent && copyOf(shape.parent), shape.exclusive);

/**
 * Checks all dependencies of classes and lists of keys at start-up, in the container and in scopes like the declared ones: missing
 * registrations, captive dependencies, circular dependencies, transactions without a pool and more. Throws one error with all problems that
 * it finds; behind a dependency that is missing, captive or circular it does not look further. It makes no instances, so it cannot see what
 * a factory or a decorator resolves.
 *
 * @param container - the application's container
 * @param scopes - the kinds of scope that the application opens, nested as it opens them, and maybe `{ noEscape: true }`
 * @throws `ContainerError` `AMBIT_INVALID`: there are problems, all of them in `problems`; `AMBIT_DISPOSED`: the container is disposed;
 *   `AMBIT_OPTION`: the tags of a scope are not a list of strings
 *
 * @example
 * ```ts
 * import { verify } from '@ambit/container/tools';
 * const app = new Container({ tags: ['application'] });
 * verify(app, { tags: ['request'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] });
 * ```
 */
export function verify(container: Container, ...scopes: readonly (ScopeDeclaration | VerifyOptions)[]): void {
  container.refuseDisposed('verify');
  const isScope = (one: ScopeDeclaration | VerifyOptions): one is ScopeDeclaration => !('noEscape' in one);
  const declared = scopes.filter(isScope);
  const { noEscape = false } = Object.assign({}, ...scopes.filter((one) => !isScope(one))) as VerifyOptions;
  const shapes = declaredShapes(container, declared);
  const allowed = noEscape === true ? [] : noEscape && noEscape.allow;
  const problems = problemsOf(shapes, declared, allowed && new Set(allowed));

  if (problems.size > 0)
    throw new ContainerError('AMBIT_INVALID', {
      about: `${problems.size} ${problems.size === 1 ? 'problem' : 'problems'} in ${lineages(shapes)}`,
      problems: [...problems.values()],
    });
}

/** Everything that cannot be resolved, each problem once. Every binding is checked once for each shape. */
function problemsOf(
  shapes: readonly Shape[],
  scopes: readonly ScopeDeclaration[],
  allowed: ReadonlySet<Key> | false,
): Map<string, ContainerError> {
  const problems = new Map<string, ContainerError>();
  const identityOf = identities();
  const seen = new Set<Unavailable>();
  const note = (failure: Unavailable) => {
    const open = [failure];
    for (let last = open.pop(); last; last = open.pop()) {
      if (seen.has(last)) continue;
      seen.add(last);
      const id = last.problem && identityOf(last.problem);
      if (last.problem && id !== undefined && !problems.has(id)) problems.set(id, last.problem);
      open.push(...last.causes.toReversed());
    }
  };
  const later: [Match, Step][] = [];
  const report = (problem: ContainerError) => new Unavailable(problem);
  const walk: Walk = {
    shapes,
    dry: true,
    templates: SHARED,
    made: 0,
    deep: 0,
    hinted: 0,
    memo: memos(),
    later,
    report,
  };
  const possible = new Set<Binding>();
  const impossible = new Map<Binding, Unavailable>();
  const look = (shape: Shape, found: Match, path?: Step) => {
    const { binding } = found;
    const made = compile(shape, found, path, walk);
    if (!(made instanceof Unavailable)) possible.add(binding);
    // A service that names its lifetime must work there, and a singleton wherever it applies; other transients may be for some scopes.
    else if (binding.singleton || path?.holder !== undefined || isAtHome(found, shape) || (path && isHeldAtHome(path)))
      note(made);
    else impossible.set(binding, made);
  };
  for (const shape of shapes)
    for (const key of shape.keys()) for (const found of shape.matches(key)) look(shape, found);
  // The list grows while it is read, because lazy dependencies may have lazy dependencies.
  for (const [found, path] of later) look(path.home, found, path);
  for (const [binding, failure] of impossible) if (!possible.has(binding)) note(failure);
  const opened = everyOf(scopes).map((declared, i) => [declared, shapes[i + 1] as Shape] as const);
  for (const problem of [
    ...opened.flatMap(([declared, shape]) => unmetBy(declared, shape.parent as Shape, walk)),
    ...(allowed ? opened.flatMap(([declared, shape]) => escapesOf(declared, shape, allowed)) : []),
    ...unreachable(shapes),
    ...undisposed(shapes),
    ...contested(shapes),
    ...splitKeys(shapes),
  ])
    note(new Unavailable(problem));
  return problems;
}

/** A service of a graph names its lifetime, so it must work in the scope that has it, also where it is transient. */
const isAtHome = ({ binding, owner }: Match, shape: Shape) =>
  binding.declared?.lifetimes !== undefined && owner === shape;

/** A service that resolves something later must work in scopes of its home, as `isAtHome` says. */
const isHeldAtHome = ({ binding, home }: Step) =>
  home.matches(binding.key).some((found) => found.binding === binding && isAtHome(found, home));

/** Distinguishes two problems, but not one problem that was found on several paths. */
function identities(): (problem: ContainerError) => string {
  const ids = new Map<Key | undefined, number>();
  const id = (key: Key | undefined) => {
    ids.set(key, ids.get(key) ?? ids.size);
    return ids.get(key) as number;
  };
  return ({ code, key, path, message }) => {
    const ring = path.slice(path.indexOf(key as Key) + 1).map(id);
    if (code === 'AMBIT_CYCLE') return JSON.stringify(ring.toSorted((one, two) => one - two));
    // The path of a parameter without a key ends with its dependent.
    const who = code === 'AMBIT_NO_KEY_FOR_PARAMETER' ? [key] : path.slice(-2);
    return JSON.stringify([...who.map(id), message.split('\n')[0]]);
  };
}

const lineages = (shapes: readonly Shape[]) => shapes.map(({ lineage }) => showTags(lineage)).join(', ');

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
            about: `No declared scope accepts ${show(binding.key)}`,
            tags: shape.lineage,
            hint: `its predicate asks for ${tagsAsked([binding], shape)}; the declared scopes are ${lineages(shapes)}. Declare scopes nested, as they are opened: { tags, scopes: [{ tags }] }`,
          }),
      ),
  );
}

/**
 * True if a registration looks like one per scope and makes instances that nobody disposes: it has a predicate and no `singleton()`, so
 * each `resolve` makes an instance that no scope keeps, and its class has a disposer. `externallyOwned()` says that this is meant.
 */
function undisposedTransient({ source, when, singleton, externallyOwned }: Binding): boolean {
  if (source.kind !== 'class' || !when || singleton || externallyOwned) return false;
  const { prototype } = source.target as { prototype: object };
  return [Symbol.asyncDispose, Symbol.dispose, 'dispose'].some((name) => name in prototype);
}

const undisposed = (shapes: readonly Shape[]): ContainerError[] =>
  shapes.flatMap((shape) =>
    [...shape.bindings.values()]
      .flat()
      .filter(undisposedTransient)
      .map(({ key }) => undisposedAt(key, shape)),
  );

const undisposedAt = (key: Key, { lineage }: Shape): ContainerError =>
  new ContainerError('AMBIT_UNDISPOSED', {
    key,
    about: `Nobody disposes the instances of ${show(key)}`,
    tags: lineage,
    hint: 'each resolve makes one that no scope keeps: add singleton() for one per scope, or externallyOwned() if the caller disposes it',
  });

/** The declarations with those within them, in the order of their shapes. */
const everyOf = (scopes: readonly ScopeDeclaration[]): ScopeDeclaration[] =>
  scopes.flatMap((one) => [one, ...everyOf(one.scopes ?? [])]);

/** The keys that the code which opens such a scope resolves from the scope around, each with what is registered under it there. */
function requiredBy({ requires = [], registers = [] }: ScopeDeclaration, around: Shape): Map<Key, Match | undefined> {
  const keys = [...requires, ...registers.flatMap((key) => hintOf(key, 'requires') ?? [])];
  return new Map<Key, Match | undefined>(
    keys.map((key) => {
      let found = around.match(key);
      while (found?.binding.source.kind === 'alias') found = around.match(keyOf(found.binding.needs?.[0]) as Key);
      return [key, found];
    }),
  );
}

/** A way from a service to another one, and the shape whose scopes deliver the dependencies of that. */
interface Way {
  readonly path: readonly Key[];
  readonly binding: Binding;
  readonly home: Shape;
  /** The last one on the path that is no alias. */
  readonly last: Key;
}

/** Each service of the inner scope that gets what the code which opens that scope requires from the scope around it. */
function escapesOf(declared: ScopeDeclaration, inner: Shape, allowed: ReadonlySet<Key>): ContainerError[] {
  const goals = new Set([...requiredBy(declared, inner.parent as Shape).values()].map((found) => found?.binding));
  const [worded = '% works outside of the scope of &'] = (declared.registers ?? []).flatMap(
    (key) => hintOf(key, 'escape') ?? [],
  );
  const services = inner.keys().flatMap((key) => inner.matches(key).filter(({ owner }) => owner === inner));
  return services.flatMap(({ binding }) => {
    const seen = new Map<Shape, Set<Binding>>();
    const open: Way[] = [{ path: [binding.key], binding, home: inner, last: binding.key }];
    const isNew = (way: Way): boolean => {
      const known = seen.get(way.home) ?? new Set();
      seen.set(way.home, known);
      return known.size !== known.add(way.binding).size;
    };
    const escapes: ContainerError[] = [];
    // The list grows while it is read.
    for (const way of open) {
      if (way.binding.allowSplit || allowed.has(way.path.at(-1) as Key) || !isNew(way)) continue;
      for (const next of waysOn(way))
        if (goals.has(next.binding)) escapes.push(escape(next.path, way.last, inner, worded));
        else open.push(next);
    }
    return escapes;
  });
}

/** The dependencies of a service, also those that it resolves later. */
function waysOn({ path, binding, home, last }: Way): Way[] {
  return home.dependencies(binding).flatMap((dependency) => {
    const key = keyOf(dependency);
    if (key === undefined) return [];
    const found = kindOf(dependency) === 'all' ? home.matches(key) : [home.match(key)];
    return found.flatMap((one) => {
      if (!one) return [];
      const to = one.binding.singleton ? one.owner : home;
      return {
        path: [...path, key],
        binding: one.binding,
        home: to,
        last: one.binding.source.kind === 'alias' ? last : key,
      };
    });
  });
}

function escape(path: readonly Key[], last: Key, { lineage }: Shape, worded: string): ContainerError {
  const [first] = path as [Key];
  const said = worded.replace('%', () => label(last)).replace('&', () => label(first));
  return new ContainerError('AMBIT_SPLIT_KEY', {
    key: first,
    about: `${path.map(label).join(' -> ')}: ${said}`,
    path,
    tags: lineage,
    hint: `register ${show(last)} for this scope, too. If it is meant, add .pipe(allowSplit()) to ${show(last)}, or name it in noEscape: { allow: [${show(last)}] }`,
  });
}

/** The keys that the code which opens such a scope resolves from the scope around, and that are missing or transient there. */
function unmetBy(declared: ScopeDeclaration, around: Shape, walk: Walk): ContainerError[] {
  return [...requiredBy(declared, around)].flatMap(([key, found]) => {
    if (!found) return missing(key, around, undefined, walk);
    const { source, singleton, externallyOwned } = found.binding;
    const isMade = source.kind === 'class' || source.kind === 'factory';
    return isMade && !singleton && !externallyOwned ? undisposedAt(found.binding.key, around) : [];
  });
}

/** Keys that two features register, where neither says that it replaces the other or adds to it. */
const contested = (shapes: readonly Shape[]): ContainerError[] =>
  shapes.flatMap(({ bindings, lineage }) =>
    [...bindings].flatMap(([key, registered]) => {
      const features = registered.flatMap(({ declared }) => (declared?.joining ? [] : (declared?.feature ?? [])));
      const names = [...new Set(features)];
      if (names.length < 2) return [];
      const hint = `${names.map(show).join(' and ')} register it, and the last one would win: say .override() to replace it, or .also() to add to it`;
      return new ContainerError('AMBIT_BAD_REGISTRATION', {
        key,
        about: `Two features register ${show(key)}`,
        tags: lineage,
        hint,
      });
    }),
  );
