import type { Container } from './container.js';
import { DisposeError, type Failure } from './errors.js';
import { instanceDisposed, scopeClosed } from './events.js';
import { BUSY } from './fast.js';
import type { Kept } from './keeping.js';

/** How the end of a scope goes. */
export interface Ending {
  readonly promise: Promise<void>;
  readonly failures: Failure[];
  done: boolean;
}

/** Of every scope that has nothing to end. */
export const NOTHING_TO_END: Ending = { promise: Promise.resolve(), failures: [], done: true };

/** Takes an ended scope out of its parent. */
export function leave(scope: Container): void {
  const { parent, older, newer } = scope;
  if (newer) newer.older = older;
  else if (parent) parent.newest = older;
  if (older) older.newer = newer;
  scope.older = scope.newer = undefined;
  if (scopeClosed.hasSubscribers) scopeClosed.publish({ scope });
}

/** Ends the scopes below, then the scope's own instances; every one is tried, and the failures come together. */
export function end(scope: Container): Ending {
  close(scope);
  let settle!: (ended: Promise<void>) => void;
  const ending: Ending = { promise: new Promise((resolve) => (settle = resolve)), failures: [], done: false };
  // Noted before anything is ended: an instance may dispose the scope again.
  scope.ending = ending;
  settle(endAll(scope, ending));
  return ending;
}

/** No scope at or below this one serves any more. */
function close(scope: Container): void {
  scope.closed = true;
  for (let child = scope.newest; child; child = child.older) close(child);
}

/** Awaits only where there is something to wait for: what ends at once has ended when `dispose()` returns. */
async function endAll(scope: Container, ending: Ending): Promise<void> {
  const { failures } = ending;
  // Who disposes a scope from inside a constructor of its own gets that instance ended as well.
  if (scope.slots.includes(BUSY)) await Promise.resolve();
  const below = endBelow(scope);
  if (below.some(({ done }) => !done)) await Promise.allSettled(below.map(({ promise }) => promise));
  failures.push(...below.flatMap((child) => child.failures));
  if (scope.starting) await scope.starting.catch(() => undefined);
  for (let kept = scope.kept; kept; kept = scope.kept) {
    const { key } = kept.binding;
    scope.kept = kept.before;
    let failure: Failure | undefined;
    for (const act of endsOf(kept))
      try {
        const acting = act() as PromiseLike<unknown> | undefined;
        if (typeof acting?.then === 'function') await acting;
      } catch (error) {
        failures.push((failure = { key, tags: scope.shape.lineage, error }));
      }
    if (instanceDisposed.hasSubscribers)
      instanceDisposed.publish({ scope, key, ...(failure && { error: failure.error }) });
  }
  leave(scope);
  ending.done = true;
  if (failures.length > 0) throw new DisposeError(failures);
}

/** Starts to end the scopes below, the newest first. */
function endBelow(scope: Container): Ending[] {
  const below: Container[] = [];
  for (let child = scope.newest; child; child = child.older) below.push(child);
  return below.map((child) => {
    // Its failures are told by this scope.
    child.dispose().catch(() => undefined);
    return child.ending as Ending;
  });
}

/** What was piped, else the outermost layer's own way: it is up to a wrapper to end what it wraps. */
function endsOf({ binding: { onDispose }, layers, borrowed }: Kept): (() => unknown)[] {
  if (onDispose)
    return onDispose.map(
      ({ act, layer }) =>
        () =>
          (act as (instance: unknown) => unknown)(layers[layer]),
    );
  return borrowed ? [] : [() => ownEnd(layers)?.()];
}

function ownEnd(layers: readonly unknown[]): (() => unknown) | undefined {
  for (const layer of layers.toReversed() as (Partial<Record<symbol | 'dispose', () => unknown>> | null | undefined)[])
    for (const name of [Symbol.asyncDispose, Symbol.dispose, 'dispose'] as const) {
      const own = layer?.[name];
      if (typeof own === 'function') return () => own.call(layer);
    }
  return undefined;
}
