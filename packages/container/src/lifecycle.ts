import { ago } from './age.js';
import type { Container } from './container.js';
import { ContainerError, DisposeError, show, type Failure } from './errors.js';
import { instanceCreated, instanceDisposed, scopeClosed } from './events.js';
import type { Resolver } from './fast.js';
import type { Key } from './keys.js';
import { cycle } from './problems.js';
import type { Binding } from './registration.js';
import { trail } from './trail.js';

/** Something to end or to start; a list of these runs from the newest to the oldest. */
export interface Kept {
  readonly binding: Binding;
  /** What was made, and what each decorator made of it. */
  readonly layers: readonly unknown[];
  readonly before: Kept | undefined;
  started: boolean;
}

/** The promise of every scope that had nothing to end. */
export const ENDED = Promise.resolve();

type Act = (instance: unknown) => unknown;
type Endable = Partial<Record<symbol | 'dispose' | 'createScope', () => unknown>> | null | undefined;

/** Throws if the scope has ended. */
export function refuseEnded(scope: Container, doing: string, key?: Key): void {
  if (!scope.closed) return;
  throw new ContainerError('AMBIT_DISPOSED', {
    key,
    about: `${doing}(${key === undefined ? '' : show(key)})`,
    tags: scope.shape.lineage,
    hint: `it was opened ${ago(scope.opened)}, and something outlived it: await all its work before dispose(), or use a scope that lives on`,
  });
}

/** Makes an instance while someone listens. */
export function announced(scope: Container, { key }: Binding, make: Resolver): unknown {
  const from = performance.now();
  const instance = make(scope);
  instanceCreated.publish({ scope, key, milliseconds: performance.now() - from });
  return instance;
}

/** This singleton is asked for while it is being made. */
export function reentered({ shape }: Container, { key }: Binding): never {
  throw cycle(key, shape, []);
}

/** Notes an instance that has to be ended or started. */
export function keep(scope: Container, binding: Binding, ...layers: unknown[]): void {
  const { source, decorators, onDispose, onStart } = binding;
  // Values and what aliases name belong to others, and a decorator notes all layers by itself.
  if (source.kind === 'value' || source.kind === 'alias' || (decorators && layers.length === 1)) return;
  if (source.kind === 'factory' && !onDispose && !onStart && isElsewhere(scope, layers[0] as Endable)) return;
  scope.kept = { binding, layers, before: scope.kept, started: false };
  // It was ended while this was made; `end` waits for it.
  refuseEnded(scope, 'resolve', binding.key);
}

/** A factory may hand out a scope, or what one up here keeps already. */
function isElsewhere(scope: Container, instance: Endable): boolean {
  if (instance?.createScope) return true;
  for (let at: Container | undefined = scope; at; at = at.parent)
    for (let kept = at.kept; kept; kept = kept.before) if (kept.layers.includes(instance)) return true;
  return false;
}

/** No scope at or below this one serves any more. */
export function close(scope: Container): void {
  scope.closed = true;
  for (let child = scope.newest; child; child = child.older) close(child);
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

/** Ends the scopes below, then the scope's own instances; every one is tried, and the failures come together. */
export async function end(scope: Container): Promise<void> {
  const failures: Failure[] = [];
  // Who disposes from inside a constructor gets that instance ended as well.
  if (trail.depth > 0) await undefined;
  const below: Container[] = [];
  for (let child = scope.newest; child; child = child.older) below.push(child);
  const endings = below.map((child) => child.dispose()).filter((ending) => ending !== ENDED);
  for (const result of endings.length > 0 ? await Promise.allSettled(endings) : [])
    if (result.status === 'rejected') failures.push(...(result.reason as DisposeError).failures);
  if (scope.starting) await scope.starting.catch(() => undefined);
  for (let kept = scope.kept; kept; kept = scope.kept) {
    const { key } = kept.binding;
    scope.kept = kept.before;
    for (const end of endsOf(kept)) {
      let failure: Failure | undefined;
      try {
        const ending = end() as PromiseLike<unknown> | undefined;
        // What ends at once has ended when `dispose()` returns.
        if (typeof ending?.then === 'function') await ending;
      } catch (error) {
        failures.push((failure = { key, tags: scope.shape.lineage, error }));
      }
      if (instanceDisposed.hasSubscribers)
        instanceDisposed.publish({ scope, key, ...(failure && { error: failure.error }) });
    }
  }
  leave(scope);
  if (failures.length > 0) throw new DisposeError(failures);
}

/** What was piped, else the outermost layer's own way: it is up to a wrapper to end what it wraps. */
function endsOf({ binding: { onDispose }, layers }: Kept): (() => unknown)[] {
  if (onDispose)
    return onDispose.map(
      ({ act, layer }) =>
        () =>
          (act as Act)(layers[layer]),
    );
  for (const layer of layers.slice().reverse() as Endable[]) {
    const end = layer?.[Symbol.asyncDispose] ?? layer?.[Symbol.dispose] ?? layer?.dispose;
    if (typeof end === 'function') return [() => end.call(layer)];
  }
  return [];
}

/** Runs what `onStart` asked for, in the order in which the instances were made: dependencies first. */
export async function start(app: Container): Promise<void> {
  for (const [key, bindings] of app.shape.bindings)
    if (bindings.some(({ onStart }) => onStart)) app.resolve(key as string);
  const made: Kept[] = [];
  for (let kept = app.kept; kept; kept = kept.before) if (!kept.started) made.unshift(kept);
  for (const kept of made) {
    const { key, onStart = [] } = kept.binding;
    if (app.closed) return;
    kept.started = true;
    for (const { act, layer } of onStart)
      try {
        await (act as Act)(kept.layers[layer]);
      } catch (cause) {
        throw new ContainerError('AMBIT_START_FAILED', {
          key,
          tags: app.shape.lineage,
          cause,
          hint: 'mend the cause; dispose() ends what has started',
        });
      }
  }
}
