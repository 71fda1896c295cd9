import type { IContainer } from '@ambit/container';

type Factory = (scope: IContainer) => unknown;

/** The scopes of another library, such as ts-ioc-container: a scope disposes its children by itself, and itself once. */
class StrictScope {
  readonly keys = new Map<string, () => unknown>();
  readonly #children = new Set<StrictScope>();
  readonly #parent: StrictScope | undefined;
  #disposed = false;

  constructor(parent?: StrictScope) {
    this.#parent = parent;
    if (parent) parent.#children.add(this);
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  resolve(key: string): unknown {
    this.#refuseDisposed();
    const factory = this.keys.get(key);
    if (factory) return factory();
    if (!this.#parent) throw new Error(`Cannot find ${key}`);
    return this.#parent.resolve(key);
  }

  child(): StrictScope {
    this.#refuseDisposed();
    return new StrictScope(this);
  }

  dispose(): void {
    this.#refuseDisposed();
    this.#disposed = true;
    if (this.#parent) this.#parent.#children.delete(this);
    for (const child of this.#children) child.dispose();
  }

  #refuseDisposed(): void {
    if (this.#disposed) throw new Error('Container is already disposed');
  }
}

/** The adapter of an application that uses that library. */
export class StrictContainer implements IContainer {
  disposedBecause: unknown = undefined;
  readonly #inner: StrictScope;

  constructor(inner: StrictScope = new StrictScope()) {
    this.#inner = inner;
  }

  get disposed(): boolean {
    return this.#inner.disposed;
  }

  createScope(): StrictContainer {
    return new StrictContainer(this.#inner.child());
  }

  resolve<T>(key: string): T {
    return this.#inner.resolve(key) as T;
  }

  register(key: string, factory: Factory): void {
    this.#inner.keys.set(key, () => factory(this));
  }

  dispose(reason?: unknown): void {
    this.disposedBecause = reason;
    this.#inner.dispose();
  }
}
