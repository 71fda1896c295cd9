import { makeAt } from './compile.js';
import { ContainerError } from './errors.js';
import { isPromise } from './keeping.js';
import type { Key } from './keys.js';
import { places } from './places.js';
import { refuseDisposed } from './scope.js';
import type { Scope } from './shape.js';
import { rare, type Kept, type Starting } from './state.js';

/** Starts what has `onStart`, once the start in progress is over. */
export function start(app: Scope): Promise<void> {
  const before = app.rare?.starting?.promise;
  const starting = { key: '' } as Starting;
  rare(app).starting = starting;
  // The caller gets this very promise, so a failure that nobody awaits is an unhandled rejection.
  starting.promise = startAll(app, starting, before).finally(() => {
    if (rare(app).starting === starting) rare(app).starting = undefined;
  });
  return starting.promise;
}

/** Calls `onStart` in the order in which the instances were made: dependencies first. */
async function startAll(app: Scope, starting: Starting, before: Promise<void> | undefined): Promise<void> {
  await before;
  refuseDisposed(app, 'start');
  makeAll(app);
  const { rejected } = rare(app);
  if (rejected) throw failed(app, rejected.key, rejected.cause);
  const made: Kept[] = [];
  for (let kept = app.kept; kept; kept = kept.before) made.push(kept);
  for (const kept of made.toReversed()) {
    const { key, onStart = [] } = kept.binding;
    starting.key = key;
    const attempt = async (act: () => unknown): Promise<void> => {
      refuseDisposed(app, 'start');
      try {
        await act();
      } catch (cause) {
        throw failed(app, key, cause);
      }
    };
    // An async factory is still running.
    if (isPromise(kept.instance)) await attempt(() => kept.instance);
    for (const { act, layer } of onStart.slice(kept.started)) {
      await attempt(() => (act as (instance: unknown) => unknown)(kept.layers ? kept.layers[layer] : kept.instance));
      // Counted after success only: the next start begins with the callback that failed.
      kept.started++;
    }
  }
}

function failed(app: Scope, key: Key, cause: unknown): ContainerError {
  // Reported once.
  rare(app).rejected = undefined;
  const hint = 'fix the cause; dispose() disposes what has been made';
  return new ContainerError('AMBIT_START_FAILED', { key, tags: app.shape.lineage, cause, hint });
}

/** Makes each registration with `onStart` whose instance belongs to this scope, also where several have one key. */
function makeAll(app: Scope): void {
  const { shape } = app;
  const keys = new Set<Key>();
  // A registration above may be for this scope. Most have no `onStart`, and looking for their places would take long.
  for (const { bindings } of shape.upward())
    for (const [key, all] of bindings) if (all.some(({ onStart }) => onStart)) keys.add(key);
  for (const key of keys)
    for (const place of places(shape, key).toReversed())
      if (place.owner === shape && place.binding.onStart) makeAt(app, key, place);
}
