import type { IContainer } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import { asFunction, asValue, type AwilixContainer, createContainer, InjectionMode } from 'awilix';
import type { ScopeLedger } from '../../src/index.js';

/** Another public container in the shape that the hosts ask for: no tags, no `defer`, and it may be ended only once. */
export class ForeignContainer implements IContainer {
  readonly #inner: AwilixContainer;
  readonly #ledger: ScopeLedger;

  private constructor(inner: AwilixContainer, ledger: ScopeLedger) {
    this.#inner = inner;
    this.#ledger = ledger;
  }

  static application(ledger: ScopeLedger, pool: IDatabasePool): ForeignContainer {
    const app = new ForeignContainer(createContainer({ injectionMode: InjectionMode.CLASSIC }), ledger);
    app.#inner.register('IDatabasePool', asValue(pool));
    return app;
  }

  createScope({ tags }: { tags: string[] }): IContainer {
    const scope = new ForeignContainer(this.#inner.createScope(), this.#ledger);
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
    this.#ledger.ended(this);
    await this.#inner.dispose();
  }
}
