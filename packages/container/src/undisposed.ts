import { ContainerError } from './errors.js';
import type { Binding } from './registration.js';
import type { Shape } from './shape.js';

/**
 * Whether a registration looks like one per scope and makes instances that nobody disposes: it has a predicate and no `singleton()`, so
 * each `resolve` makes an instance that no scope keeps, and its class has a disposer. `externallyOwned()` says that this is meant.
 */
function undisposedTransient({ source, when, singleton, externallyOwned }: Binding): boolean {
  if (source.kind !== 'class' || !when || singleton || externallyOwned) return false;
  const { prototype } = source.target as { prototype: object };
  return [Symbol.asyncDispose, Symbol.dispose, 'dispose'].some((name) => name in prototype);
}

/** One problem for each such registration. */
export const undisposed = (shapes: readonly Shape[]): ContainerError[] =>
  shapes.flatMap(({ bindings, lineage }) =>
    [...bindings.values()]
      .flat()
      .filter(undisposedTransient)
      .map(
        ({ key }) =>
          new ContainerError('AMBIT_UNDISPOSED', {
            key,
            tags: lineage,
            hint: 'each resolve makes one that no scope keeps: add singleton() for one per scope, or externallyOwned() if the caller disposes it',
          }),
      ),
  );
