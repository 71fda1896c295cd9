import { ContainerError, type Key } from '@ambit/container';
import { errorName, failure } from './error-names.js';
import { label } from './names.js';
import { ServiceCounts } from './tables.js';
import type { Trail } from './trail.js';
import { Where } from './where.js';

/** Records which services are created and disposed, and which failed to be. */
export class CreationRecorder {
  readonly counts = new ServiceCounts();
  readonly #trail: Trail;
  /** The error that was published last, and the keys that it has passed. */
  #failing: { readonly error: unknown; readonly path: string[] } | undefined;

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  created(scope: object, key: Key, milliseconds: number): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    const name = label(key);
    const service = this.counts.created(entry.box, name, milliseconds);
    if (service) entry.services.push(service);
    this.#trail.step(entry, 'created', { key: name, took: milliseconds });
  }

  /** Its scope does not keep it, so nobody knows how long it is alive. */
  transientCreated(scope: object, key: Key, milliseconds: number): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    const name = label(key);
    this.counts.transientCreated(entry.box, name, milliseconds);
    this.#trail.step(entry, 'created', { key: name, took: milliseconds });
  }

  /** Called for each service that the error passes, the one that threw first: all of them are one step. */
  failed(scope: object, key: Key, error: unknown): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    const name = label(key);
    const last = this.#failing;
    const known = last && last.error === error ? last.path : undefined;
    // A service may throw the same error object again.
    if (known && known.at(-1) !== name) {
      // The container's own errors have the whole path already.
      if (!known.includes(name)) known.unshift(name);
      return;
    }
    const path = error instanceof ContainerError && error.path.length > 0 ? error.path.map(label) : [name];
    this.#failing = { error, path };
    const place = error instanceof Error ? new Where(error) : undefined;
    const step = { key: path.at(-1) ?? name, path, error: errorName(error), place };
    this.#trail.step(entry, 'failed', step)?.account(error);
  }

  disposed(scope: object, key: Key, error: unknown): void {
    const entry = this.#trail.entryOf(scope);
    if (entry) this.#trail.step(entry, 'disposed', { key: label(key), ...failure(error) });
  }
}
