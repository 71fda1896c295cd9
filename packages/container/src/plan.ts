import { ContainerError, label, show, showTags } from './errors.js';
import { All, Lazy, type Dependency, type Key } from './keys.js';
import type { Binding } from './registration.js';
import type { Place, Shape } from './shape.js';

/** How one binding is made for scopes of one shape: data, worked out once, read by the resolver, by `verify` and by the graph. */
export interface Plan extends Place {
  /** The shape whose scopes deliver the dependencies: the owner for a singleton, else the one that asks. */
  readonly home: Shape;
  readonly needs: readonly Need[];
}

/** One dependency: `plans` has one entry for a service, any number for `all(key)`, none for `lazy(key)`. */
export interface Need {
  readonly dependency: Dependency | undefined;
  readonly plans: readonly Plan[];
}

/** One binding on the way from the key that was asked for; the scope of shape `asking` asked. */
interface Step {
  readonly binding: Binding;
  readonly asking: Shape;
  readonly home: Shape;
}

/** One walk over plans, and who hears of its problems: `resolve` throws the first, `verify` collects them all and knows more shapes. */
export interface Inspection {
  report(problem: ContainerError): void;
  readonly shapes: readonly Shape[];
}

const failing: Inspection = {
  report(problem) {
    throw problem;
  },
  shapes: [],
};

/** The plan for the key, seen from the shape. */
export function planFor(shape: Shape, key: Key, trail: readonly Key[] = []): Plan {
  const place = shape.place(key);
  // `failing` throws where a plan would be missing.
  return (place ? plan(shape, place, [], failing) : failing.report(missing(key, shape, [], [], trail))) as Plan;
}

/** The plan for one binding; undefined where it has problems, which are reported. */
export function plan(
  asking: Shape,
  place: Place,
  path: readonly Step[] = [],
  inspection: Inspection = failing,
): Plan | undefined {
  const { binding, owner } = place;
  const home = binding.singleton ? owner : asking;
  if (path.some((step) => step.binding === binding && step.home === home)) {
    inspection.report(cycle(binding.key, home, path.map((step) => step.binding.key)));
    return undefined;
  }
  const known = asking.plans.get(binding);
  // Failed before, on this very walk: reported already.
  if (known === inspection) return undefined;
  if (known && 'needs' in known) return known;
  const here = [...path, { binding, asking, home }];
  const named = dependencies(binding, home);
  const keyless = reportKeyless(binding, named, home, here, inspection);
  const needs = Array.from(named, (dependency) => need(dependency, home, here, inspection));
  const whole = !keyless && needs.every(({ plans }) => !plans.includes(undefined as never));
  const made = whole ? Object.freeze({ ...place, home, needs }) : undefined;
  asking.plans.set(binding, made ?? inspection);
  return made;
}

function need(dependency: Dependency | undefined, home: Shape, path: readonly Step[], inspection: Inspection): Need {
  if (dependency === undefined || dependency instanceof Lazy) return { dependency, plans: [] };
  const key = dependency instanceof All ? dependency.key : dependency;
  const place = home.place(key);
  const places = dependency instanceof All ? home.places(key).reverse() : place ? [place] : [];
  if (!place && !(dependency instanceof All)) inspection.report(missing(key, home, path, inspection.shapes));
  const plans = places.map((one) => plan(home, one, path, inspection));
  return { dependency, plans: (place || dependency instanceof All ? plans : [undefined]) as Plan[] };
}

/** What the binding asks for, one entry per parameter; a parameter that has no key is not in it. */
export function dependencies({ source, needs }: Binding, { injector }: Shape): readonly Dependency[] {
  if (needs || source.kind !== 'class') return needs ?? [];
  return injector.dependencies(source.target) as readonly Dependency[];
}

function reportKeyless({ source, key }: Binding, named: readonly unknown[], home: Shape, path: readonly Step[], { report }: Inspection): boolean {
  if (source.kind !== 'class') return false;
  const { target } = source;
  let keyless = false;
  // A parameter with a default is not counted by `length`, and may go without a key.
  for (let i = 0; i < target.length; i++)
    if (named[i] === undefined) {
      keyless = true;
      report(
        new ContainerError('AMBIT_NO_KEY_FOR_PARAMETER', {
          key,
          about: `parameter ${i} of ${show(target)}`,
          path: path.map((step) => step.binding.key),
          tags: home.lineage,
          hint: `decorate it with @inject(key), or list every key: Registration.fromClass(${label(target)}, [...])`,
        }),
      );
    }
  return keyless;
}

/** The path leads from the key back to it, with or without a way to get there. */
export function cycle(key: Key, home: Shape, path: readonly Key[]): ContainerError {
  return new ContainerError('AMBIT_CYCLE', {
    key,
    path: [...path, key],
    tags: home.lineage,
    hint: `let one of them ask for it later with lazy(${show(key)}), or move what both need into a third service`,
  });
}

/** Why the key is not to be had at `home`: unknown, known only elsewhere, or shorter-lived than the one who asks. */
export function missing(
  key: Key,
  home: Shape,
  path: readonly Step[],
  shapes: readonly Shape[],
  trail: readonly Key[] = [],
): ContainerError {
  const details = { key, path: [...trail, ...path.map((step) => step.binding.key), key], tags: home.lineage };
  const holder = path.find((step) => step.home === home && step.binding.singleton)?.binding.key;
  const below = [...path.map((step) => step.asking), ...shapes.filter((shape) => shape.isBelow(home))].find(
    (shape) => shape.places(key).length > 0,
  );
  if (holder !== undefined && below)
    return new ContainerError('AMBIT_SHORTER_LIFE', {
      ...details,
      about: `${show(holder)}, which lives in ${showTags(home.lineage)},`,
      hint: `${show(key)} lives in ${showTags((below.place(key) as Place).owner.lineage)}: give ${show(holder)} that life too, or pass ${show(key)} to its methods`,
    });
  const asked = home.refused(key);
  if (asked)
    return new ContainerError('AMBIT_OUT_OF_SCOPE', {
      ...details,
      hint:
        asked.length > 0
          ? `its predicate asks for ${asked.map(show).join(', ')}: resolve it from a scope with that tag`
          : 'its predicate said no to these tags',
    });
  const near = home
    .keys()
    .find((known) => typeof known === 'string' && typeof key === 'string' && oneEditApart(known, key));
  return new ContainerError('AMBIT_NOT_REGISTERED', {
    ...details,
    hint:
      near === undefined
        ? `add a registration .to(${show(key)}), or resolve it from the scope that registers it`
        : `did you mean ${show(near)}?`,
  });
}

/** True when one letter more, less, other, or swapped with its neighbour turns one into the other; case does not count. */
function oneEditApart(a: string, b: string): boolean {
  const [one, two] = [a.toLowerCase(), b.toLowerCase()];
  let start = 0;
  while (start < one.length && one[start] === two[start]) start++;
  const [x, y] = [one.slice(start), two.slice(start)];
  const swapped = x.length > 1 && x[0] === y[1] && x[1] === y[0] && x.slice(2) === y.slice(2);
  return swapped || x.slice(1) === y || x === y.slice(1) || x.slice(1) === y.slice(1);
}
