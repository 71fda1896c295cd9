import { refuseEnded } from './checks.js';
import type { Container } from './container.js';
import { ContainerError } from './errors.js';
import { instanceCreated } from './events.js';
import { cycle } from './problems.js';
import type { Binding } from './registration.js';
import { handed } from './trail.js';

/** Something to end or to start; a list of these runs from the newest to the oldest. */
export interface Kept {
  readonly binding: Binding;
  /** What was made, and what each decorator made of it. */
  readonly layers: readonly unknown[];
  readonly before: Kept | undefined;
  /** Handed to the factory by somebody else, who ends it. */
  readonly borrowed: boolean;
  started: boolean;
}

/** Work given to `defer` is kept like an instance. What errors and events call it is no key of anybody's. */
export const DEFERRED: Binding = {
  key: Symbol('work given to defer()'),
  source: { kind: 'class', target: Object },
  onDispose: [{ layer: 0, act: (work) => (work as () => unknown)() }],
};

/** Tells who listens that an instance was made. */
export function announce(scope: Container, { key }: Binding, since: number): void {
  instanceCreated.publish({ scope, key, milliseconds: performance.now() - since });
}

/** This singleton is asked for while it is being made. */
export function reentered({ shape }: Container, { key }: Binding): never {
  throw cycle(key, shape, []);
}

/** Notes an instance that has to be ended or started; `borrowed` says that its factory was handed it. */
export function keep(scope: Container, binding: Binding, layers: readonly unknown[], borrowed = handed.on): void {
  const { source, decorators, onDispose, onStart } = binding;
  // Values and what aliases name belong to others, and a decorator notes all layers by itself.
  if (source.kind === 'value' || source.kind === 'alias' || (decorators && layers.length === 1)) return;
  const others = source.kind === 'factory' && !onDispose && (borrowed || isScopeOfOthers(layers[0], scope));
  if (!others || onStart) scope.kept = { binding, layers, before: scope.kept, borrowed: others, started: false };
  // It was ended while this was made; its end waits for that.
  refuseEnded(scope, 'resolve', binding.key);
}

/** A scope ends with its parent, and the outermost one with the application. */
function isScopeOfOthers(instance: unknown, scope: Container): boolean {
  if (scope.parent) return isScopeOfOthers(instance, scope.parent);
  const { createScope, parent } = (instance ?? {}) as Partial<Container>;
  return typeof createScope === 'function' && (parent !== undefined || instance === scope);
}

/** Runs what `onStart` asked for, in the order in which the instances were made: dependencies first. */
export async function start(app: Container, before: Promise<void> | undefined): Promise<void> {
  await before;
  for (const key of app.shape.bindings.keys()) {
    const place = app.shape.place(key);
    if (place?.owner === app.shape && place.binding.onStart) app.resolve(key as string);
  }
  const made: Kept[] = [];
  for (let kept = app.kept; kept; kept = kept.before) if (!kept.started) made.unshift(kept);
  for (const kept of made) {
    const { key, onStart = [] } = kept.binding;
    refuseEnded(app, 'start');
    for (const { act, layer } of onStart)
      try {
        await (act as (instance: unknown) => unknown)(kept.layers[layer]);
      } catch (cause) {
        throw new ContainerError('AMBIT_START_FAILED', {
          key,
          tags: app.shape.lineage,
          cause,
          hint: 'mend the cause; dispose() ends what has been made',
        });
      }
    // Not before: what failed is what the next start begins with.
    kept.started = true;
  }
}
