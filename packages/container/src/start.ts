import { makeAt } from './compile.js';
import type { Container, KeptInstance, Starting } from './container.js';
import { ContainerError } from './errors.js';
import type { Key } from './keys.js';
import { isPromise } from './shape.js';

export function start(app: Container): Promise<void> {
  const before = app.rare?.starting?.promise;
  const starting = { key: '' } as Starting;
  app.rareState().starting = starting;
  // The caller gets this very promise, so a failure that nobody awaits is an unhandled rejection.
  starting.promise = startAll(app, starting, before).finally(() => {
    if (app.rareState().starting === starting) app.rareState().starting = undefined;
  });
  return starting.promise;
}

/** Calls `onStart` in the order in which the instances were made: dependencies first. */
async function startAll(app: Container, starting: { key: Key }, before: Promise<void> | undefined): Promise<void> {
  await before;
  app.refuseDisposed('start');
  makeAll(app);
  const { rejected } = app.rareState();
  if (rejected) throw failed(app, rejected.key, rejected.cause);
  const made: KeptInstance[] = [];
  for (let kept = app.latest; kept; kept = kept.previous) made.push(kept);
  for (const kept of made.toReversed()) {
    const { key, onStart = [] } = kept.binding;
    starting.key = key;
    const attempt = async (act: () => unknown): Promise<void> => {
      app.refuseDisposed('start');
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

function failed(app: Container, key: Key, cause: unknown): ContainerError {
  // Reported once.
  app.rareState().rejected = undefined;
  const hint = 'fix the cause; dispose() disposes what has been made';
  return new ContainerError('AMBIT_START_FAILED', { key, tags: app.shape.lineage, cause, hint });
}

/** Makes each registration with `onStart` whose instance belongs to this scope, also where several have one key. */
function makeAll(app: Container): void {
  const { shape } = app;
  const keys = new Set<Key>();
  // A registration above may be for this scope. Most have no `onStart`, and a search for all of their matches would take long.
  for (const { bindings } of shape.upward())
    for (const [key, all] of bindings) if (all.some(({ onStart }) => onStart)) keys.add(key);
  for (const key of keys)
    for (const found of shape.matches(key).toReversed())
      if (found.owner === shape && found.binding.onStart) makeAt(app, key, found);
}
