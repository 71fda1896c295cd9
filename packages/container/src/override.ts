import type { Binding } from './registration.js';
import type { Container } from './container.js';
import { ContainerError, hintOf, show, showTags } from './errors.js';
import { keyOf, type Key } from './keys.js';
import { alike } from './problems.js';
import { changeShape } from './registering.js';
import { BUSY, empty, isMade, read, type Shape } from './shape.js';

import { pathsTo } from './verify.js';

/**
 * For tests: these registrations win over all others of their keys, in the container and below, until the result is disposed.
 * Call it before what it replaces is made. What was made while it lasts stays as it is, so give each test a container of its own.
 *
 * @param container - where they win
 * @param registrations - each completed with `.to(key)`
 * @returns what `using` disposes at the end of the block
 * @throws `ContainerError` `AMBIT_NOT_REGISTERED`: there is nothing to override, since nothing registers the key and no service depends on
 *   it; `AMBIT_LATE_OVERRIDE`: the instance, or a singleton that has it, was made before; `AMBIT_BAD_REGISTRATION`: a registration has no
 *   key; `AMBIT_DISPOSED`: the container is disposed
 *
 * @example
 * ```ts
 * import { override } from '@ambit/container/tools';
 * const { value, build } = lifetimes('application');
 * const graph = build({ IName: value('real') });
 * const app = new Container().addRegistration(...graph.registrations);
 * {
 *   using _ = override(app, ...graph.replacing({ IName: value('fake') }));
 *   app.resolve('IName'); // 'fake'
 * }
 * app.resolve('IName'); // 'real'
 * ```
 */
export function override(container: Container, ...registrations: readonly Binding[]): Disposable {
  container.refuseDisposed('override');
  const mark = Symbol('override');
  const added = registrations.map((binding) => ({ ...binding, override: mark }));
  const open = container.tree().filter(({ closed }) => !closed);
  for (const binding of added) if (binding.source) refuseUnknown(container, open, binding);
  refuseLate(container, open, added);
  container.addRegistration(...added);
  return { [Symbol.dispose]: () => restore(container, mark) };
}

function restore(container: Container, mark: symbol): void {
  const { bindings, slots } = container.shape;
  const obsolete = [...bindings.values()].flat().filter(({ override: marked }) => marked === mark);
  const keys = obsolete.map(({ key }) => key);
  changeShape(container, keys, () => {
    container.shape.values = undefined;
    for (const key of keys) bindings.set(key, bindings.get(key)?.filter((other) => !obsolete.includes(other)) ?? []);
    for (const binding of obsolete) {
      if (!bindings.get(binding.key)?.[0]) bindings.delete(binding.key);
      const slot = slots.taken.get(binding);
      // No other scope uses the slot. Its instance may be in the making.
      if (binding.when || slot === undefined || read(container, slot) === BUSY) continue;
      empty(container, slot);
      slots.taken.delete(binding);
      slots.free.push(slot);
    }
  });
}

/** A misspelt key would replace nothing. Entries of a graph are checked already; classes and keys of other packages are known. */
function refuseUnknown(container: Container, open: readonly Container[], { key, declared }: Binding): void {
  if (declared || typeof key === 'function' || hintOf(key, 'resolve') !== undefined) return;
  const known = new Set<Key | undefined>();
  for (const { shape, rare } of [...aboveOf(container), ...open]) {
    for (const one of rare?.registered?.keys() ?? []) known.add(one);
    for (const [one, bindings] of shape.bindings) {
      known.add(one);
      for (const binding of bindings)
        for (const dependency of shape.dependencies(binding)) known.add(keyOf(dependency));
    }
  }
  if (known.has(key)) return;
  const near = [...known].find((one) => one !== undefined && alike(one, key));
  throw new ContainerError('AMBIT_NOT_REGISTERED', {
    key,
    about: `${show(key)}, so there is nothing to override`,
    tags: container.shape.lineage,
    hint:
      near === undefined
        ? 'no service depends on it either: correct the key, or call addRegistration() for one that is new'
        : `did you mean ${show(near)}?`,
  });
}

function aboveOf({ parent }: Container): Container[] {
  return parent ? [parent, ...aboveOf(parent)] : [];
}

/** Existing instances keep their dependencies, so an override would reach some services and not others. */
function refuseLate(container: Container, open: readonly Container[], overrides: readonly Binding[]): void {
  const late = open.flatMap((scope) => {
    const { shape } = scope;
    const keys = new Set(overrides.flatMap((one) => (applies(one, shape, container.shape) ? one.key : [])));
    return madeIn(scope).flatMap((binding) => {
      const paths = keys.has(binding.key) ? [{ path: [binding.key] }] : pathsTo(keys, binding, shape, 'lazy');
      return paths.map(({ path }) => lateOverride(path, shape));
    });
  });
  // A service that has it says more than the instance itself.
  const problem = late.find(({ path }) => path[1] !== undefined) ?? late[0];
  if (problem) throw problem;
}

/** The singletons that the scope has made; a value was made by other code. */
function madeIn(scope: Container): Binding[] {
  const { shape } = scope;
  return shape.keys().flatMap((key) =>
    shape.matches(key).flatMap(({ binding, owner }) => {
      const slot =
        owner === shape && binding.singleton && binding.source.kind !== 'value'
          ? shape.slots.taken.get(binding)
          : undefined;
      return slot !== undefined && isMade(scope, slot) ? binding : [];
    }),
  );
}

/** True if scopes of the shape would get the override, which was added to scopes of the shape `top`. */
function applies({ when }: Binding, shape: Shape, top: Shape): boolean {
  if (!when) return true;
  for (const at of shape.upward()) {
    if (when(at)) return true;
    if (at === top) break;
  }
  return false;
}

function lateOverride(path: readonly Key[], { lineage }: Shape): ContainerError {
  const [made, ...rest] = path;
  const key = path.at(-1) as Key;
  const hint =
    rest[0] === undefined
      ? 'register it with fromValue() if it has to exist before'
      : `override ${show(made)} in the same call`;
  return new ContainerError('AMBIT_LATE_OVERRIDE', {
    key,
    about: `${show(key)} is overridden too late: ${show(made)} of ${showTags(lineage)} was made before${rest[0] === undefined ? '' : ', with the one that it replaces'}`,
    path,
    tags: lineage,
    hint: `call override() before the first resolve() or start(), in a container of this test alone; or ${hint}`,
  });
}
