import type { IContainer } from '@ambit/container';

/** As little container as the package needs: keys, parents, disposal in reverse. With `defers` it has the hook. */
export class TinyContainer implements IContainer {
  /** Scopes, in all of this tree, that were opened and did not end. */
  readonly open: Set<TinyContainer>;
  readonly tags: readonly string[];
  readonly parent: TinyContainer | undefined;
  readonly #children = new Set<TinyContainer>();
  readonly #keys = new Map<string, (scope: IContainer) => unknown>();
  readonly #atEnd: ((reason?: unknown) => unknown)[] = [];
  #ended: Promise<void> | undefined;
  disposals = 0;
  declare defer?: (fn: (reason?: unknown) => unknown) => unknown;

  constructor({
    tags = ['application'],
    parent,
    defers = true,
  }: { tags?: string[]; parent?: TinyContainer; defers?: boolean } = {}) {
    this.tags = tags;
    this.parent = parent;
    this.open = parent?.open ?? new Set();
    this.open.add(this);
    if (defers) this.defer = (fn) => this.#atEnd.push(fn);
  }

  createScope({ tags }: { tags: string[] }): TinyContainer {
    this.#refuseWhenEnded();
    const child = new TinyContainer({ tags, parent: this, defers: this.defer !== undefined });
    this.#children.add(child);
    return child;
  }

  resolve<T>(key: string): T {
    this.#refuseWhenEnded();
    const factory = this.lookUp(key);
    if (!factory) throw new Error(`nothing is registered as ${key}`);
    return factory(this) as T;
  }

  register(key: string, factory: (scope: IContainer) => unknown): this {
    this.#refuseWhenEnded();
    this.#keys.set(key, factory);
    return this;
  }

  /** Stands for an instance that the scope owns and ends. */
  owns(end: () => unknown): void {
    this.#atEnd.push(end);
  }

  dispose(reason?: unknown): Promise<void> {
    this.#ended ??= this.#dispose(reason);
    return this.#ended;
  }

  lookUp(key: string): ((scope: IContainer) => unknown) | undefined {
    return this.#keys.get(key) ?? this.parent?.lookUp(key);
  }

  async #dispose(reason: unknown): Promise<void> {
    this.disposals += 1;
    const errors: unknown[] = [];
    const attempt = async (end: (reason?: unknown) => unknown): Promise<void> => {
      try {
        await end(reason);
      } catch (error) {
        errors.push(error);
      }
    };
    for (const child of [...this.#children].toReversed()) await attempt(() => child.dispose(reason));
    for (const end of this.#atEnd.toReversed()) await attempt(end);
    if (this.parent) this.parent.#children.delete(this);
    this.open.delete(this);
    if (errors.length > 0) throw new AggregateError(errors, 'the scope failed to dispose');
  }

  #refuseWhenEnded(): void {
    if (this.#ended) throw new Error('the scope is disposed');
  }
}

/** A container without `defer`, which does not tell the scope around it. */
export function foreign(inner: TinyContainer): IContainer {
  return {
    resolve: (key: string) => inner.resolve(key),
    register: (key: string, factory: (scope: IContainer) => unknown) => inner.register(key, factory),
    createScope: (options) => foreign(inner.createScope(options)),
    dispose: () => inner.dispose(),
  };
}
