import type { IContainer } from '@ambit/container';

type Factory = (scope: IContainer) => unknown;

/**
 * The adapter of an application over the scopes of another library, such as ts-ioc-container: a scope disposes its children by
 * itself, past the `dispose()` of their adapters, and itself once.
 */
export class StrictContainer implements IContainer {
  disposed = false;
  disposedBecause: unknown = undefined;
  readonly #keys = new Map<string, Factory>();
  readonly #children = new Set<StrictContainer>();
  readonly #parent: StrictContainer | undefined;

  constructor(parent?: StrictContainer) {
    this.#parent = parent;
    if (parent) parent.#children.add(this);
  }

  createScope(): StrictContainer {
    this.#refuseDisposed();
    return new StrictContainer(this);
  }

  resolve<T>(key: string): T {
    this.#refuseDisposed();
    const factory = this.#keys.get(key);
    if (factory) return factory(this) as T;
    if (!this.#parent) throw new Error(`Cannot find ${key}`);
    return this.#parent.resolve(key);
  }

  register(key: string, factory: Factory): void {
    this.#keys.set(key, factory);
  }

  dispose(reason?: unknown): void {
    this.disposedBecause = reason;
    this.#end();
  }

  #end(): void {
    this.#refuseDisposed();
    this.disposed = true;
    if (this.#parent) this.#parent.#children.delete(this);
    for (const child of this.#children) child.#end();
  }

  #refuseDisposed(): void {
    if (this.disposed) throw new Error('Container is already disposed');
  }
}
