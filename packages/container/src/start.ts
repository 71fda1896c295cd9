import { refuseEnded } from './checks.js';
import { compile, compiling } from './compile.js';
import type { Container } from './container.js';
import { ContainerError } from './errors.js';
import type { Resolver } from './templates.js';
import { isPromise, type Kept } from './keeping.js';
import type { Key } from './keys.js';
import { places, upward } from './places.js';
import { askFor } from './registering.js';
import { rare } from './slots.js';
import { fresh } from './tracing.js';

/** A start in progress, and the key of what is being started. */
export interface Starting {
  promise: Promise<void>;
  key: Key;
}

/** Starts what has `onStart`, once the start in progress is over. */
export function start(app: Container): Promise<void> {
  const before = app.rare?.starting?.promise;
  const starting = { key: '' } as Starting;
  rare(app).starting = starting;
  // One promise for all, so that a failure nobody waits for is not swallowed.
  starting.promise = startAll(app, starting, before).finally(() => {
    if (rare(app).starting === starting) rare(app).starting = undefined;
  });
  return starting.promise;
}

/** Calls `onStart` in the order in which the instances were made: dependencies first. */
async function startAll(app: Container, starting: Starting, before: Promise<void> | undefined): Promise<void> {
  await before;
  refuseEnded(app, 'start');
  makeAll(app);
  const { rejected } = rare(app);
  if (rejected) throw failed(app, rejected.key, rejected.cause);
  const made: Kept[] = [];
  for (let kept = app.kept; kept; kept = kept.before) made.push(kept);
  for (const kept of made.toReversed()) {
    const { key, onStart = [] } = kept.binding;
    starting.key = key;
    const attempt = async (act: () => unknown): Promise<void> => {
      refuseEnded(app, 'start');
      try {
        await act();
      } catch (cause) {
        throw failed(app, key, cause);
      }
    };
    // An async factory is still at it.
    if (isPromise(kept.instance)) await attempt(() => kept.instance);
    for (const { act, layer } of onStart.slice(kept.started)) {
      await attempt(() => (act as (instance: unknown) => unknown)(kept.layers ? kept.layers[layer] : kept.instance));
      // Not before: what failed is what the next start begins with.
      kept.started++;
    }
  }
}

function failed(app: Container, key: Key, cause: unknown): ContainerError {
  // Reported once.
  rare(app).rejected = undefined;
  const hint = 'fix the cause; dispose() disposes what has been made';
  return new ContainerError('AMBIT_START_FAILED', { key, tags: app.shape.lineage, cause, hint });
}

/** Makes each registration with `onStart` whose instance belongs to this scope, also where several have one key. */
function makeAll(app: Container): void {
  const { shape } = app;
  const keys = new Set<Key>();
  // A registration above may be for this scope. Most have no `onStart`, and looking for their places would take long.
  for (const { bindings } of upward(shape))
    for (const [key, all] of bindings) if (all.some(({ onStart }) => onStart)) keys.add(key);
  for (const key of keys)
    for (const place of places(shape, key).toReversed())
      if (place.owner === shape && place.binding.onStart) {
        const walk = compiling(shape, { ask: (asked) => askFor(app, asked) });
        fresh(shape, key, compile(shape, place, undefined, walk) as Resolver)(app);
      }
}
