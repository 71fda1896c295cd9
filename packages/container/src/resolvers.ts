import { compile, deliver, compiling, compilingAround, copying, memos, type Walk } from './compile.js';
import type { ContainerError } from './errors.js';
import { own, shared, type Templates } from './fast.js';
import { all, type Key } from './keys.js';
import { place, type Place } from './places.js';
import { MOST_COPIES, type Resolver, type Scope, type Shape, fresh } from './shape.js';
import { askFor, directly } from './instances.js';

// After so many calls a key gets functions of its own, if it has one in so many calls of its shape and takes few functions.
const OFTEN = 2000;
const ONE_IN = 64;
const FEW = 64;
// After so many calls it gets them in any case: by then the time that V8 takes to compile them pays.
const VERY_OFTEN = 16_000;

/** The function that `resolve` calls for the key; compiled for the shape of the scope and remembered there. */
export function resolverFor(scope: Scope, key: Key): Resolver {
  const [direct] = directly(scope, key);
  if (direct) return fresh(scope.shape, key, direct);
  return workedOut(scope, key, 'resolvers', (shape, found, walk) => entry(shape, key, found, walk, shared));
}

/** The function that `resolveAll` calls for the key. */
export function collectionFor(scope: Scope, key: Key): Resolver {
  const direct = directly(scope, key).toReversed();
  if (direct[0]) return fresh(scope.shape, key, (from) => direct.map((get) => get(from)));
  return workedOut(scope, key, 'collections', (shape, _, walk) =>
    fresh(shape, key, deliver(all(key), shape, undefined, walk) as Resolver),
  );
}

type WorkOut = (shape: Shape, found: Place | undefined, walk: Walk) => Resolver;

function workedOut(scope: Scope, key: Key, known: 'resolvers' | 'collections', workOut: WorkOut): Resolver {
  for (;;) {
    const { shape } = scope;
    const found = place(shape, key);
    const ask = (asked: Key) => askFor(scope, asked);
    let resolver: Resolver;
    try {
      resolver = workOut(shape, found, compiling(shape, { ask }));
    } catch (error) {
      // It depends on a key that was registered directly, so the scope has another shape now.
      if (scope.shape !== shape) continue;
      return aroundChanges(scope, key, error as ContainerError, () => workOut(shape, found, compilingAround(scope)));
    }
    if (scope.shape !== shape) continue;
    // Keys without a registration may be made from data, so they are not remembered.
    if (!found) return resolver;
    if (typeof key === 'function') ask(key);
    const lasting = known === 'resolvers' && found.binding.source.kind !== 'value';
    shape.remember(known, key, lasting ? counting(shape, key, resolver) : resolver);
    return resolver;
  }
}

/** Returns an instance that exists, even if it could not be made again; else reports what stands in the way beside those. */
function aroundChanges(scope: Scope, key: Key, error: ContainerError, workOut: () => Resolver): Resolver {
  try {
    return workOut();
  } catch (beside) {
    const problem = (beside as ContainerError).code === error.code ? error : beside;
    scope.shape.plans.observer?.refused(scope, key, problem);
    throw problem;
  }
}

function entry(shape: Shape, key: Key, found: Place | undefined, walk: Walk, templates: Templates): Resolver {
  const get = (found ? compile(shape, found, undefined, walk) : deliver(key, shape, undefined, walk)) as Resolver;
  const { binding, owner } = found as Place;
  if (binding.singleton) return templates.existing(shape.levelsTo(owner), owner.slots.of(binding), key, shape, get);
  return binding.source.kind === 'value' ? get : fresh(shape, key, get);
}

/** Counts until the key turns out to be called often, and has it compiled again then. */
function counting(shape: Shape, key: Key, resolver: Resolver): Resolver {
  let calls = 0;
  let next = OFTEN;
  const count: Resolver = (scope) => {
    shape.calls++;
    if (++calls === next) {
      next *= 2;
      const isTime = calls >= VERY_OFTEN || calls * ONE_IN >= shape.calls;
      if (isTime && shape.resolvers.get(key) === count) hasten(shape, key, calls < VERY_OFTEN ? FEW : Infinity);
    }
    return resolver(scope);
  };
  return count;
}

function hasten(shape: Shape, key: Key, most: number): void {
  const found = place(shape, key);
  const trial = compiling(shape, { memo: memos() });
  entry(shape, key, found, trial, shared);
  if (trial.made > most || shape.plans.copies + trial.made > MOST_COPIES) return;
  const walk = copying(shape);
  const resolver = entry(shape, key, found, walk, own);
  // Functions that were copied for other keys before are not counted again.
  shape.plans.copies += walk.made;
  shape.remember('resolvers', key, resolver);
  shape.often.add(key, resolver);
}
