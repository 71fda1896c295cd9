import type { Container } from './container.js';
import { DisposeError, type Failure } from './errors.js';
import { instanceDisposed, scopeClosed } from './events.js';
import { BUSY } from './fast.js';
import type { Kept } from './keeping.js';

type Act = (instance: unknown) => unknown;

const WAYS = [Symbol.asyncDispose, Symbol.dispose, 'dispose'] as const;

/** How the end of a scope goes. */
export interface Ending {
  promise: Promise<void> | undefined;
  /** Settles the promise that was given away before there was one. */
  settle?: (ended: Promise<void>) => void;
  readonly failures: Failure[];
  done: boolean;
}

/** Of every scope that has nothing to end. */
export const NOTHING_TO_END = { promise: Promise.resolve(), failures: [], done: true } satisfies Ending;

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
export function end(scope: Container): Promise<void> {
  close(scope);
  const ending: Ending = { promise: undefined, failures: [], done: false };
  scope.ending = ending;
  const ended = endAll(scope, ending);
  ending.settle?.(ended);
  return (ending.promise ??= ended);
}

/** The promise of an end under way; an instance may ask for it while it is ended. */
export function promiseOf(ending: Ending): Promise<void> {
  return (ending.promise ??= new Promise((resolve) => {
    ending.settle = resolve;
  }));
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
  if (scope.newest) {
    const below = endBelow(scope);
    if (below.some(({ done }) => !done)) await Promise.allSettled(below.map(promiseOf));
    failures.push(...below.flatMap((child) => child.failures));
  }
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
          (act as Act)(layers[layer]),
    );
  return borrowed ? [] : [() => endOutermost(layers)];
}

function endOutermost(layers: readonly unknown[]): unknown {
  for (let i = layers.length - 1; i >= 0; i--) {
    const layer = layers[i] as Partial<Record<symbol | 'dispose', Act>> | null | undefined;
    for (const way of WAYS) if (typeof layer?.[way] === 'function') return (layer[way] as () => unknown)();
  }
  return undefined;
}
