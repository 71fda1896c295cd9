import type { IContainer } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import { asFunction, asValue, type AwilixContainer, createContainer, InjectionMode } from 'awilix';
import type { ScopeLedger } from '../../src/index.js';

/** Another public container in the shape that the hosts ask for: no tags, no `defer`, and it may be ended only once. */
export class ForeignContainer implements IContainer {
  readonly #inner: AwilixContainer;
  readonly #ledger: ScopeLedger;
  /** Of one that disposes its children by itself, as ts-ioc-container does. */
  readonly #children: Set<ForeignContainer> | undefined;
  #disposed = false;

  private constructor(inner: AwilixContainer, ledger: ScopeLedger, disposesChildren: boolean) {
    this.#inner = inner;
    this.#ledger = ledger;
    this.#children = disposesChildren ? new Set() : undefined;
  }

  static application(ledger: ScopeLedger, pool: IDatabasePool, disposesChildren = false): ForeignContainer {
    const inner = createContainer({ injectionMode: InjectionMode.CLASSIC });
    const app = new ForeignContainer(inner, ledger, disposesChildren);
    app.#inner.register('IDatabasePool', asValue(pool));
    return app;
  }

  createScope({ tags }: { tags: string[] }): IContainer {
    const scope = new ForeignContainer(this.#inner.createScope(), this.#ledger, this.#children !== undefined);
    this.#children?.add(scope);
    this.#ledger.opened(scope, tags.join(' '));
    return scope;
  }

  resolve<T>(key: string): T {
    return this.#inner.resolve<T>(key);
  }

  register(key: string, factory: (scope: IContainer) => unknown): void {
    this.#inner.register(key, asFunction(() => factory(this)).transient());
  }

  async dispose(): Promise<void> {
    if (this.#disposed) throw new Error('Container is already disposed');
    await this.#dispose();
  }

  async #dispose(): Promise<void> {
    this.#disposed = true;
    this.#ledger.disposed(this);
    for (const child of this.#children ?? []) if (!child.#disposed) await child.#dispose();
    await this.#inner.dispose();
  }
}
