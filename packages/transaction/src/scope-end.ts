import type { IContainer } from '@ambit/container';

type Callback = () => Promise<void> | undefined;

/** What a foreign scope waits for before it is disposed. */
const CALLBACKS = Symbol('ambit.beforeDispose');

interface Watched extends IContainer {
  [CALLBACKS]?: Set<Callback>;
}

/** The scope of a transaction: disposed once, by the transaction or by others, who then wait for its rollback. */
export class ScopeEnd {
  readonly #parent: IContainer;
  readonly #scope: IContainer;
  readonly #rollback: (reason: Error) => Promise<void>;
  /** Somebody disposes the scope, so waiting for its end from within would wait for ourselves. */
  #begun = false;
  #forgetParent: (() => void) | undefined = undefined;

  constructor(parent: IContainer, scope: IContainer, rollback: (reason: Error) => Promise<void>) {
    this.#parent = parent;
    this.#scope = scope;
    this.#rollback = rollback;
  }

  watch(): void {
    onScopeEnd(this.#scope, () => {
      if (this.#begun) return undefined;
      this.#begun = true;
      return this.#rollBack();
    });
    // A foreign scope may dispose its children before ROLLBACK, and past our hook.
    if (!this.#scope.defer) this.#forgetParent = onScopeEnd(this.#parent, () => this.#rollBack());
  }

  dispose(): Promise<void> | void {
    if (this.#begun) return undefined;
    this.#begun = true;
    return this.#scope.dispose();
  }

  /** The transaction is over. */
  forget(): void {
    this.#forgetParent?.();
  }

  #rollBack(): Promise<void> {
    return this.#rollback(new Error('The scope of the transaction was disposed'));
  }
}

/**
 * Makes `fn` part of the disposal of `scope`, no matter who disposes it, until the function returned is called. Our container
 * has a hook for that; of another container we replace `dispose` on this one scope, and so see every disposal except one
 * that a scope further out brings about by other means.
 */
function onScopeEnd(scope: IContainer, fn: Callback): () => void {
  if (scope.defer) {
    scope.defer(fn);
    return () => undefined;
  }
  const watched: Watched = scope;
  const callbacks = (watched[CALLBACKS] ??= watchDispose(scope));
  callbacks.add(fn);
  return () => void callbacks.delete(fn);
}

function watchDispose(scope: IContainer): Set<Callback> {
  const callbacks = new Set<Callback>();
  const dispose = scope.dispose.bind(scope);
  let disposing: Promise<void> | undefined;
  scope.dispose = () => {
    if (disposing || callbacks.size === 0) return disposing ?? dispose();
    disposing = (async () => {
      const begun = [...callbacks].map((fn) => fn());
      for (const end of begun) await end;
      await dispose();
    })();
    return disposing;
  };
  return callbacks;
}
