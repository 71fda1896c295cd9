import type { Container } from './container.js';
import { ContainerError, DisposeError, type Failure } from './errors.js';
import { instanceDisposed, scopeClosed } from './events.js';
import type { Binding } from './registration.js';
import { trail } from './trail.js';

/** Something to end or to start; a list of these runs from the newest to the oldest. */
export interface Kept {
  readonly binding: Binding;
  readonly instance: unknown;
  readonly before: Kept | undefined;
  started: boolean;
}

/** The promise of every scope that had nothing to wait for. */
export const ENDED = Promise.resolve();

type End = () => unknown;
type Endable = Partial<Record<symbol | 'dispose', End>> | null | undefined;

/** What ends the instance: what was piped, else its own method. */
function endsOf({ binding, instance }: Kept): End[] {
  if (binding.onDispose) return binding.onDispose.map((end) => () => (end as (instance: unknown) => unknown)(instance));
  const own = instance as Endable;
  const end = own?.[Symbol.asyncDispose] ?? own?.[Symbol.dispose] ?? own?.dispose;
  return typeof end === 'function' ? [end.bind(own)] : [];
}

/** No scope at or below this one serves any more. */
export function close(scope: Container): void {
  scope.closed = true;
  for (let child = scope.newest; child; child = child.older) close(child);
}

/** Ends the children, then the scope's own instances; every one is tried, and the failures come together. */
export async function end(scope: Container): Promise<void> {
  const failures: Failure[] = [];
  // Whoever disposes from inside a constructor waits for that construction: its instance is to be ended as well.
  if (trail.depth > 0) await undefined;
  const children = [...childrenOf(scope)].map((child) => child.dispose()).filter((ending) => ending !== ENDED);
  if (children.length > 0)
    for (const result of await Promise.allSettled(children))
      if (result.status === 'rejected') failures.push(...(result.reason as DisposeError).failures);
  if (scope.starting) await scope.starting.catch(() => undefined);
  for (let kept = scope.kept; kept; kept = scope.kept) {
    scope.kept = kept.before;
    for (const end of endsOf(kept)) {
      try {
        const ending = end();
        // Awaited only where there is something to wait for: what ends at once has ended when `dispose()` returns.
        if (ending instanceof Object && 'then' in ending) await ending;
        if (instanceDisposed.hasSubscribers) instanceDisposed.publish({ scope, key: kept.binding.key });
      } catch (error) {
        failures.push({ key: kept.binding.key, tags: scope.shape.lineage, error });
        if (instanceDisposed.hasSubscribers) instanceDisposed.publish({ scope, key: kept.binding.key, error });
      }
    }
  }
  leave(scope);
  if (failures.length > 0) throw new DisposeError(failures);
}

function* childrenOf(scope: Container): Iterable<Container> {
  // The next one is read before this one is handed out, since ending it takes it out of the list.
  for (let child = scope.newest, older; child; child = older) {
    older = child.older;
    yield child;
  }
}

/** Takes an ended scope out of its parent. */
export function leave(scope: Container): void {
  const { parent, older, newer } = scope;
  if (newer) newer.older = older;
  else if (parent) parent.newest = older;
  if (older) older.newer = newer;
  scope.older = scope.newer = undefined;
  if (scopeClosed.hasSubscribers) scopeClosed.publish({ scope });
}

/** Runs what `onStart` asked for, in the order in which the instances were made: dependencies first. */
export async function start(app: Container): Promise<void> {
  for (const [key, bindings] of app.shape.bindings) if (bindings.some(({ onStart }) => onStart)) app.resolve(key as string);
  const made: Kept[] = [];
  for (let kept = app.kept; kept; kept = kept.before) if (!kept.started) made.unshift(kept);
  for (const kept of made) {
    if (app.closed) return;
    kept.started = true;
    try {
      for (const begin of kept.binding.onStart ?? []) await (begin as (instance: unknown) => unknown)(kept.instance);
    } catch (cause) {
      throw new ContainerError('AMBIT_START_FAILED', {
        key: kept.binding.key,
        tags: app.shape.lineage,
        cause,
        hint: 'mend the cause; what has started by now is ended by dispose()',
      });
    }
  }
}
