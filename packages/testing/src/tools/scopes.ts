import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Container } from '@ambit/container';
import type { Happenings } from './waiting.js';

interface OpenedScope {
  readonly tag: string;
  disposals: number;
}

/** @internal Every scope that was opened under one application, and how often it was disposed. */
export class ScopeLedger {
  readonly #happenings: Happenings;
  readonly #opened: OpenedScope[] = [];
  /** Weak, so that a test can see a scope being forgotten. */
  readonly #openedScopes = new WeakMap<object, OpenedScope>();

  constructor(happenings: Happenings) {
    this.#happenings = happenings;
  }

  opened(scope: object, tag: string): void {
    const opened = { tag, disposals: 0 };
    this.#opened.push(opened);
    this.#openedScopes.set(scope, opened);
    this.#happenings.tell();
  }

  disposed(scope: object): void {
    const opened = this.#openedScopes.get(scope);
    if (opened) opened.disposals += 1;
    this.#happenings.tell();
  }

  /** How many scopes with this tag were opened so far. */
  count(tag: string): number {
    return this.#opened.filter((opened) => opened.tag === tag).length;
  }

  get open(): string[] {
    return this.#tagsOf((opened) => opened.disposals === 0);
  }

  get disposedTwice(): string[] {
    return this.#tagsOf((opened) => opened.disposals > 1);
  }

  /** Resolves when `times` scopes with this tag are open or were. */
  opens(tag: string, times = 1): Promise<void> {
    return this.#happenings.until(() => this.count(tag) >= times, `${times} scopes tagged ${tag} were opened`);
  }

  /** Resolves when no more than `count` scopes are open. */
  until(count: number): Promise<void> {
    return this.#happenings.until(() => this.open.length <= count, `${count} scopes are open`);
  }

  /** Resolves when no scope is open. */
  allDisposed(): Promise<void> {
    return this.#happenings.until(() => this.open.length === 0, 'every scope is disposed');
  }

  /** Follows all scopes below `app`; returns what stops it. */
  follow(app: Container): () => void {
    const isOurs = (scope: Container): boolean => {
      let root = scope;
      while (root.parent) root = root.parent;
      return root === app;
    };
    const onOpened = (message: unknown): void => {
      const { scope } = message as { scope: Container };
      if (!isOurs(scope)) return;
      this.opened(scope, scope.tags.join(' '));
      scope.defer(() => this.disposed(scope));
    };
    subscribe('ambit:scope:opened', onOpened);
    return () => unsubscribe('ambit:scope:opened', onOpened);
  }

  #tagsOf(isSo: (opened: OpenedScope) => boolean): string[] {
    return this.#opened.filter(isSo).map((opened) => opened.tag);
  }
}
