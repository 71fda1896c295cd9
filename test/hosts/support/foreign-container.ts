import type { IContainer } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import type { ScopeLedger } from '@ambit/test-kit';

type Factory = (scope: IContainer) => unknown;

/** A container of another kind, with the four methods that the hosts ask for: no tags, no `defer`, and it may be ended only once. */
export class ForeignContainer implements IContainer {
  readonly #factories = new Map<string, Factory>();
  readonly #parent: ForeignContainer | undefined;
  readonly #ledger: ScopeLedger;
  /** Of one that disposes its children by itself, as ts-ioc-container does. */
  readonly #children: Set<ForeignContainer> | undefined;
  #disposed = false;

  private constructor(parent: ForeignContainer | undefined, ledger: ScopeLedger, disposesChildren: boolean) {
    this.#parent = parent;
    this.#ledger = ledger;
    this.#children = disposesChildren ? new Set() : undefined;
  }

  static application(ledger: ScopeLedger, pool: IDatabasePool, disposesChildren = false): ForeignContainer {
    const app = new ForeignContainer(undefined, ledger, disposesChildren);
    app.register('IDatabasePool', () => pool);
    return app;
  }

  createScope({ tags }: { tags: string[] }): IContainer {
    const scope = new ForeignContainer(this, this.#ledger, this.#children !== undefined);
    this.#children?.add(scope);
    this.#ledger.opened(scope, tags.join(' '));
    return scope;
  }

  resolve<T>(key: string): T {
    if (this.#disposed) throw new Error('Container is already disposed');
    const factory = this.#factories.get(key);
    if (factory) return factory(this) as T;
    if (!this.#parent) throw new Error(`Could not resolve '${key}'`);
    return this.#parent.resolve<T>(key);
  }

  register(key: string, factory: Factory): void {
    this.#factories.set(key, factory);
  }

  async dispose(): Promise<void> {
    if (this.#disposed) throw new Error('Container is already disposed');
    await this.#dispose();
  }

  async #dispose(): Promise<void> {
    this.#disposed = true;
    this.#ledger.disposed(this);
    for (const child of this.#children ?? []) if (!child.#disposed) await child.#dispose();
  }
}
